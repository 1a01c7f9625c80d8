//! Processes that come from processes with sensors.

use crate::harness::Program;

#[test]
fn a_program_that_nobody_watches_leaves_nothing_behind() {
    let mut program = Program::start("steps");
    program.tell("emit 10");
    program.send("end");
    program.child.wait().unwrap();
    assert_eq!(std::fs::read_dir(program.directory.path()).unwrap().count(), 0);
}
