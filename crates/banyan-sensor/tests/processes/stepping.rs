//! A writer that is stopped behind every single instruction of `emit`: wherever it might be killed, nothing torn is shown.

use banyan_sensor::observe::Reader;

use crate::child::Step;
use crate::harness::Program;

/// Instructions: some dozens of events, with blocks that are entered.
const STEPS: usize = 60_000;

/// After each so many instructions a new reader looks, too: it reads all of the ring. Coprime to the length of a loop, it
/// comes at every place of `emit` in time.
const OTHERS: usize = 101;

/// A thread of a child that runs one instruction at a time.
struct Stepped(libc::pid_t);

impl Stepped {
    fn stop(thread: u32) -> Stepped {
        let thread = thread as libc::pid_t;
        let nothing = std::ptr::null_mut::<libc::c_void>();
        for request in [libc::PTRACE_SEIZE, libc::PTRACE_INTERRUPT] {
            // SAFETY: these requests touch no memory of this process.
            assert_eq!(unsafe { libc::ptrace(request, thread, nothing, nothing) }, 0);
        }
        let stepped = Stepped(thread);
        stepped.wait();
        stepped
    }

    fn wait(&self) {
        let mut status = 0;
        // SAFETY: the status is valid for the call.
        assert_eq!(unsafe { libc::waitpid(self.0, &mut status, libc::__WALL) }, self.0);
        assert!(libc::WIFSTOPPED(status), "{status}");
    }

    fn step(&self) {
        let nothing = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: the request touches no memory of this process.
        assert_eq!(unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, self.0, nothing, nothing) }, 0);
        self.wait();
    }
}

impl Drop for Stepped {
    fn drop(&mut self) {
        let nothing = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: the request touches no memory of this process. The thread may be gone.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, self.0, nothing, nothing) };
    }
}

/// Reads everything; the events are whole, and their numbers go on without a gap.
fn read(reader: &mut Reader, last: &mut Option<u64>) {
    reader
        .drain(|event| {
            let step = event.view::<Step>().unwrap();
            assert!(step.is_whole());
            assert!(last.is_none_or(|last| step.number == last + 1), "{last:?} {step:?}");
            *last = Some(step.number);
        })
        .unwrap();
}

#[test]
fn behind_every_instruction_of_a_writer_all_that_is_committed_is_shown_and_whole() {
    let program = Program::start_with("storm", &[("BANYAN_SENSOR_RING", "16384")]);
    let mut thread = None;
    let mut reader = program.segment().read().unwrap();
    crate::harness::wait_until("an event", || {
        reader.drain(|event| thread = Some(event.thread)).unwrap();
        thread.is_some()
    });
    let stepped = Stepped::stop(thread.unwrap());
    reader.drain(|_| ()).unwrap();
    let (mut last, mut first) = (None, None);
    for number in 0..STEPS {
        stepped.step();
        read(&mut reader, &mut last);
        first = first.or(last);
        if number % OTHERS != 0 {
            continue;
        }
        // What a reader finds that comes now, as after a kill.
        let mut later = program.segment().read().unwrap();
        let mut seen = None;
        read(&mut later, &mut seen);
        assert!(last.is_none() || seen == last);
        let account = later.accounts().remove(0);
        assert_eq!((account.in_flight(), later.damaged()), (0, 0), "{account:?}");
        assert_eq!(account.emitted, seen.map_or(0, |number| number + 1));
    }
    assert!(last.unwrap() - first.unwrap() > 10, "{first:?} {last:?}");
    assert_eq!(reader.damaged(), 0);
}
