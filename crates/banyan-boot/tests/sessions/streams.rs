//! Standard streams of members.

use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use banyan_boot::{Event, Input, Output, Session, Stdio};

use crate::member::numbers;
use crate::one_host::launch;
use crate::setup::{all_succeed, deadline, listen, members, options, shell};

pub(crate) fn output_arrives_whole_labelled_and_before_the_exit() {
    let heard = all_succeed(launch(shell("echo out; echo err >&2; echo more"), 20));
    assert_eq!(heard.exits.len(), 20);
    for rank in 0..20 {
        assert_eq!(heard.text(rank), "out\nmore\n");
        assert_eq!(heard.errors[&rank], b"err\n");
    }
}

pub(crate) fn the_last_line_needs_no_end() {
    let heard = all_succeed(launch(shell("printf 'one\\ntwo'; printf three >&2"), 3));
    assert_eq!(heard.text(2), "one\ntwo");
    assert_eq!(heard.errors[&2], b"three");
}

pub(crate) fn five_megabytes_of_one_member_arrive_whole() {
    let heard = all_succeed(launch(members(&["numbers", "5000000"]), 1));
    assert!(heard.output[&0] == numbers(5_000_000), "{} bytes", heard.output[&0].len());
}

pub(crate) fn bytes_without_any_line_arrive_as_they_were_written() {
    let heard = all_succeed(launch(shell("head -c 1000000 /dev/zero; printf '\\377\\n\\001'"), 1));
    let mut expected = vec![0; 1_000_000];
    expected.extend([0xff, b'\n', 1]);
    assert!(heard.output[&0] == expected, "{} bytes", heard.output[&0].len());
}

pub(crate) fn a_front_end_that_does_not_listen_slows_members_and_loses_nothing() {
    // More than pipes, links and the front-end together hold: the member cannot end before somebody listens.
    let size = 40_000_000;
    let session = launch(members(&["numbers", &size.to_string()]), 1);
    let ended = session.recv_user_data_timeout(Instant::now() + Duration::from_millis(500));
    assert!(matches!(ended, Err(banyan_boot::SessionError::TimedOut)), "nobody listened, and it ended: {ended:?}");
    let heard = listen(&session);
    assert!(heard.output[&0] == numbers(size), "{} bytes", heard.output[&0].len());
}

pub(crate) fn what_nobody_takes_is_written_to_standard_error_behind_rank_and_host() {
    let (own, mut file) = (io::stderr().as_fd().try_clone_to_owned().unwrap(), tempfile::tempfile().unwrap());
    rustix::stdio::dup2_stderr(&file).unwrap();
    let session = launch(shell("echo out; echo err >&2").output(Output::Pass), 2);
    let ended = session.wait_timeout(deadline());
    drop(session);
    rustix::stdio::dup2_stderr(&own).unwrap();
    assert_eq!(ended.unwrap().exit_status(), 0);
    let mut text = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0 localhost: err", "0 localhost: out", "1 localhost: err", "1 localhost: out"]);
}

pub(crate) fn a_plain_program_inherits_its_standard_streams_and_no_other_descriptor() {
    let heard = all_succeed(launch(shell("echo ${BANYAN_JOIN-none} $BANYAN_RANK; ls /proc/self/fd").plain(), 1));
    // The highest is the directory that is being listed.
    assert_eq!(heard.text(0), "none 0\n0\n1\n2\n3\n");
}

fn reader(input: Input) -> banyan_boot::ProcessDistribution {
    shell("cat; echo end").stdio(Stdio::default().input(input).output(Output::Forward))
}

pub(crate) fn standard_input_reaches_everyone() {
    let session = launch(reader(Input::Everyone), 5);
    session.write_input(b"first\n");
    // What was written is there before the input ends.
    let event = session.recv_event_timeout(Instant::now() + Duration::from_secs(20));
    assert!(matches!(event, Ok(Event::Output(lines)) if lines.bytes == "first\n"));
    session.write_input(b"second\n");
    session.close_input();
    let heard = all_succeed(session);
    let texts: Vec<String> = (0..5).map(|rank| heard.text(rank)).collect();
    assert_eq!(texts.iter().filter(|text| *text == "first\nsecond\nend\n").count(), 4, "{texts:?}");
}

pub(crate) fn standard_input_for_the_master_reaches_nobody_else() {
    let session = launch(reader(Input::Master), 3);
    session.write_input(b"for the master");
    session.close_input();
    let heard = all_succeed(session);
    assert_eq!(heard.text(0), "for the masterend\n");
    assert_eq!((heard.text(1), heard.text(2)), ("end\n".into(), "end\n".into()));
}

pub(crate) fn ten_megabytes_of_standard_input_arrive_whole() {
    let counter = shell("sleep 0.2; cksum").stdio(Stdio::default().input(Input::Everyone).output(Output::Forward));
    let session = launch(counter, 3);
    session.write_input(&numbers(10_000_000));
    session.close_input();
    let heard = all_succeed(session);
    let length = numbers(10_000_000).len();
    assert!(heard.text(0).contains(&format!(" {length}")), "{}", heard.text(0));
    assert_eq!(heard.text(0), heard.text(1));
    assert_eq!(heard.text(0), heard.text(2));
}

pub(crate) fn a_member_that_does_not_read_holds_up_no_output_of_others() {
    let input = Stdio::default().input(Input::Everyone).output(Output::Forward);
    // The agent of the second host is below the first one's, so that all it has to say passes the member that never reads.
    let idle = shell("echo waits; exec sleep 1000").stdio(input).on("host0", 1);
    let busy = ["numbers-after-input", "5000000"];
    let busy = members(&busy).stdio(input).on("host1", 1);
    let session = Session::launch(&[idle, busy], &options().fanout(1)).unwrap();
    let mut written = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| session.write_input(&numbers(10_000_000)));
        loop {
            match session.recv_event_timeout(deadline()).expect("the second member should end") {
                Event::Output(lines) if lines.rank == 1 => written += lines.bytes.len(),
                Event::Exited { rank: 1, .. } => break session.stop(),
                _ => {}
            }
        }
    });
    assert_eq!(written, numbers(5_000_000).len());
    session.kill().unwrap();
}
