//! Sessions through real ssh.
fn main() {}
