//! Generates the Cap'n Proto code when its compiler is installed.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_capnp)");
    println!("cargo::rerun-if-changed=src/records.capnp");
    let generated = capnpc::CompilerCommand::new().src_prefix("src").file("src/records.capnp").run();
    match generated {
        Ok(()) => println!("cargo::rustc-cfg=has_capnp"),
        Err(error) => println!("cargo::warning=Cap'n Proto is left out ({error}); install the capnproto package"),
    }
}
