//! Agents with an extension: what it is told, what reaches members, and what lives on when agents do not.

use banyan_boot::{ExitState, JoinError, Member, ProcessDistribution, Session, SessionOptions};

use crate::losses::SPARE;
use crate::network::{Network, TUNNELS, echo};
use crate::one_host;
use crate::relatives::assert_alone;
use crate::setup::{all_succeed, assert_says, launch_error, listen, members, options, outcome, shell};
use crate::starts::{script, with_agent};

/// Two members on each of three hosts, one below the other.
fn chain(members: ProcessDistribution) -> ProcessDistribution {
    members.on("host0", 2).on("host1", 2).on("host2", 2)
}

fn extended(network: &Network) -> SessionOptions {
    options().fanout(1).extension(network.note())
}

pub(crate) fn the_extension_of_each_agent_is_told_who_it_is_and_gets_the_note_of_the_one_above() {
    let network = one_host::network();
    let session = Session::launch(&[chain(members(&["meet"]))], &extended(&network)).unwrap();
    let said = network.lines("agent ", 3);
    assert_eq!(
        said,
        [
            "agent 1 level 1 of 3 and 6 on host0 true below 0",
            "agent 2 level 2 of 3 and 6 on host1 true below 0.1",
            "agent 3 level 3 of 3 and 6 on host2 true below 0.1.2",
        ]
    );
    all_succeed(session);
    assert_eq!(network.lines("agent ", 3), ["agent 1 ends", "agent 2 ends", "agent 3 ends"]);
}

pub(crate) fn members_speak_with_the_extension_of_their_agent() {
    let network = one_host::network();
    let session = Session::launch(&[chain(members(&["extended"]))], &extended(&network)).unwrap();
    let said = network.lines("member ", 12);
    let heard = all_succeed(session);
    for rank in 0..6 {
        let node = rank / 2 + 1;
        let path: String = (1..=node).map(|node| format!(".{node}")).collect();
        assert_says(&heard.text(rank), &[&format!("hello {rank} from {node}"), &format!(" 0{path}\n"), "once"]);
        assert!(said.contains(&format!("member {rank} says I am {rank}")), "{said:?}");
        assert!(said.contains(&format!("member {rank} ended")), "{said:?}");
    }
}

pub(crate) fn members_that_attach_get_the_note_of_their_agent() {
    let network = one_host::network();
    let attached = ProcessDistribution::attached().on("localhost", 1);
    let session = Session::launch(&[attached], &extended(&network)).unwrap();
    let member = Member::attach(session.ticket().unwrap()).unwrap();
    assert_says(&String::from_utf8_lossy(member.note()), &[" 0.1"]);
    assert!(matches!(banyan_boot::extension_socket(), Err(JoinError::NoExtension)));
    drop(member);
    session.kill().unwrap();
}

pub(crate) fn members_of_a_session_without_extension_get_no_socket_of_one() {
    let heard = all_succeed(
        Session::launch(&[chain(shell("echo ${BANYAN_TREE-none}; ls /proc/self/fd"))], &options()).unwrap(),
    );
    // The highest is the directory that is being listed.
    assert_eq!(heard.text(3), "none\n0\n1\n2\n3\n4\n");
}

pub(crate) fn bytes_go_through_tunnels_to_the_node_above_and_back() {
    let network = one_host::network();
    let note = [network.note(), TUNNELS.into()].concat();
    let options = extended(&network).extension(note).extension_port(echo());
    let session = Session::launch(&[chain(shell("while :; do sleep 1000; done"))], &options).unwrap();
    let expected: Vec<String> = (0..12).map(|number| format!("tunnel of {}: true", number / 4 + 1)).collect();
    assert_eq!(network.lines("tunnel ", 12), expected);
    session.kill().unwrap();
    drop(network);
    assert_alone(SPARE);
}

pub(crate) fn a_tunnel_that_leads_nowhere_is_closed() {
    let network = one_host::network();
    let note = [network.note(), TUNNELS.into()].concat();
    // Nobody listens at the front-end.
    let options = extended(&network).extension(note);
    let session = Session::launch(&[chain(shell("while :; do sleep 1000; done"))], &options).unwrap();
    let expected: Vec<String> =
        (0..12).map(|number| format!("tunnel of {}: {}", number / 4 + 1, number >= 4)).collect();
    assert_eq!(network.lines("tunnel ", 12), expected);
    session.kill().unwrap();
    drop(network);
    assert_alone(SPARE);
}

pub(crate) fn a_program_without_the_extension_is_named_with_the_remedy() {
    let network = one_host::network();
    let directory = tempfile::tempdir().unwrap();
    let program = options().agent.unwrap();
    let plain = script(directory.path(), &format!("BANYAN_TEST_PLAIN=1 exec {} \"$@\"", program.display()));
    let options = with_agent(plain).extension(network.note());
    let error = launch_error(&[shell("true").on("host1", 1)], &options);
    let remedy = "banyan_tree::become_agent_if_asked()";
    assert_says(&error, &["host host1", &program.display().to_string(), "extension", remedy]);
    assert_eq!(error.matches("host1").count(), 1, "{error}");
    assert_alone(SPARE);
}

pub(crate) fn an_extension_that_cannot_begin_says_why() {
    let options = options().extension(b"nowhere".to_vec());
    let error = launch_error(&[shell("true").on("host1", 1)], &options);
    assert_says(&error, &["host host1", "the extension of its agent cannot begin: no name in the note"]);
    let long = options.extension(vec![0; (64 << 10) + 1]);
    assert_says(&launch_error(&[shell("true").on("host1", 1)], &long), &["65537 bytes", "65536 at most"]);
}

pub(crate) fn an_extension_ends_its_agents_when_it_is_over() {
    let network = one_host::network();
    let session = Session::launch(&[chain(shell("while :; do sleep 1000; done"))], &extended(&network)).unwrap();
    assert_eq!(network.lines("agent ", 3).len(), 3);
    drop(network);
    // Asked to, and not by accident.
    assert!(listen(&session).problems.is_empty());
    let states = outcome(&session).states;
    assert!(states.iter().all(|state| matches!(state, ExitState::Signalled { signal: 15, .. })), "{states:?}");
    assert_alone(SPARE);
}
