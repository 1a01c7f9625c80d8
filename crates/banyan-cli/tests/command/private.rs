//! Processes that hold the secrets of a session keep their memory to themselves.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use crate::workshop::{Workshop, skip};

/// Who of the processes above a member, and of the member itself, can be read by the member.
const LOOK: &str = r#"cat /proc/$$/environ > /dev/null && echo member readable
p=$$
for who in agent keeper front-end; do
    p=$(sed -n "s/^PPid:[^0-9]*//p" /proc/$p/status)
    if cat /proc/$p/environ > /dev/null 2>&1; then echo $who readable; else echo $who private; fi
    if test $1 = refused && true < /proc/$p/mem; then echo $who opened; fi 2> /dev/null
done"#;

#[test]
fn no_process_of_the_same_user_reads_agents_keepers_and_front_ends_and_members_stay_as_they_are() {
    let own = fs::metadata("/proc/self").expect("/proc").uid();
    if own != 0 || Command::new("setpriv").arg("--version").output().is_err() {
        return skip("only root can become another user, with setpriv");
    }
    let shop = Workshop::new();
    let look = |variable: &str, word: &str| {
        // Through a descriptor, since the other user may not go where the program is.
        let ran = shop.shell(&format!(
            "exec 9< {}; cd /; export BANYAN_CONFIG= {variable}\n\
             setpriv --reuid=65534 --regid=65534 --clear-groups /proc/self/fd/9 run -n 1 --no-label -- sh -c '{LOOK}' look {word}",
            env!("CARGO_BIN_EXE_banyan")
        ));
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", ran.out);
        ran.out
    };
    assert_eq!(look("", "refused"), "member readable\nagent private\nkeeper private\nfront-end private\n");
    let debugged = look("BANYAN_DUMPABLE=1", "allowed");
    assert_eq!(debugged, "member readable\nagent readable\nkeeper readable\nfront-end readable\n");
}
