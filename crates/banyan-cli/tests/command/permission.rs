//! What the system does not permit ends with status 5, whichever verb was refused.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use crate::workshop::{Workshop, skip};

#[test]
fn every_verb_ends_with_status_5_when_something_is_not_permitted() {
    let own = fs::metadata("/proc/self").expect("/proc").uid();
    if own != 0 || Command::new("setpriv").arg("--version").output().is_err() {
        return skip("only root can become another user, with setpriv");
    }
    let shop = Workshop::new();
    let shut = shop.path("");
    fs::set_permissions(&shut, std::os::unix::fs::PermissionsExt::from_mode(0o711)).expect("it is ours");
    shop.write("secret", "content\n");
    fs::set_permissions(shop.path("secret"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
    let (secret, new) = (shop.path("secret").display().to_string(), shop.path("new").display().to_string());
    let refused = [
        format!("copy {secret} /tmp/never"),
        format!("copy /etc/hostname {new}"),
        format!("copy --gather {secret} /tmp/never"),
        format!("copy --gather /etc/hostname {new}"),
        format!("run --log {new} -- true"),
        format!("records dump {secret}"),
        format!("topo gen 4x4 -o {new}"),
        format!("topo check {secret}"),
        format!("manual {new}"),
        format!("run --hostfile {secret} -- true"),
        format!("topo gen 4x16 --hostfile {secret}"),
        format!("stack --hostfile {secret} --pid 1"),
    ];
    let configured = (secret.as_str(), "run -- true");
    for (config, command) in refused.iter().map(|command| ("", command.as_str())).chain([configured]) {
        // Through a descriptor, since the other user may not go where the program is.
        let ran = shop.shell(&format!(
            "exec 9< {}; cd /; export BANYAN_CONFIG={config}\n\
             setpriv --reuid=65534 --regid=65534 --clear-groups /proc/self/fd/9 {command}",
            env!("CARGO_BIN_EXE_banyan")
        ));
        assert_eq!(ran.status, 5, "{command}: {}{}", ran.out, ran.err);
        assert!(ran.err.to_lowercase().contains("permission denied"), "{command}: {}", ran.err);
    }
    assert_eq!(shop.files(), ["secret"], "nothing was left behind");
}
