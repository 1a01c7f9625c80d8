//! Filters of one's own: upwards and downwards, others at each level.

use banyan_tree::{Direction, Network, NodeId, PASS, Report, StreamOptions, TreeError, WaveNumber, Where};

use crate::setup::{ECHO, Text, deadline, network, order};

/// What came of a wave of texts.
fn next(stream: &banyan_tree::Stream) -> String {
    stream.recv_timeout(deadline()).unwrap().read::<Text>().unwrap().text
}

/// What has happened so far, but for who has joined.
fn told(network: &Network) -> Vec<Report> {
    let told = std::iter::from_fn(|| network.try_recv_event().ok().flatten());
    told.filter(|report| !matches!(report, Report::Joined(_) | Report::AgentJoined(_))).collect()
}

/// A text for each of so many members: this one for one of them.
fn texts(count: usize, rank: usize, word: &str) -> Vec<Text> {
    (0..count).map(|at| Text { text: if at == rank { word.into() } else { "go".into() } }).collect()
}

pub(crate) fn what_goes_down_passes_a_filter_at_every_level() {
    let network = network("2x2x1", "echo");
    let options = StreamOptions::filter("trace", "up").down("trace", "down");
    let stream = network.open(&network.everyone(), options).unwrap();
    for word in ["go", "again"] {
        stream.send(ECHO, &Text { text: word.into() }).unwrap();
        let one = |rank: u32| format!("up({rank}:down(down(down({word}))))");
        let two = |first: u32| format!("up({},{})", one(first), one(first + 1));
        assert_eq!(next(&stream), format!("up({},{})", two(0), two(2)));
    }
    let parts: Vec<Text> = (0..4).map(|at| Text { text: format!("for {at}") }).collect();
    stream.scatter(ECHO, &parts).unwrap();
    let came = next(&stream);
    assert!((0..4).all(|rank| came.contains(&format!("{rank}:down(down(down(for {rank})))"))), "{came}");
}

pub(crate) fn every_level_may_have_its_own_filters() {
    let network = network("1x1x2", "echo");
    let options = StreamOptions::filter("trace", "elsewhere")
        .up_at(Where::Root, "trace", "root")
        .up_at(Where::Level(2), "trace", "two")
        .up_at(Where::Members, "trace", "own")
        .down_at(Where::Agents, "trace", "agent")
        .down_at(Where::Level(2), PASS, "")
        .down_at(Where::Members, "trace", "taken");
    let stream = network.open(&network.everyone(), options).unwrap();
    stream.send(ECHO, &Text { text: "go".into() }).unwrap();
    assert_eq!(next(&stream), "root(elsewhere(two(own(0:taken(agent(go))),own(1:taken(agent(go))))))");
}

pub(crate) fn members_put_records_of_intervals_together_by_their_own_filters() {
    let network = network("1x2", "ticks");
    let options = StreamOptions::filter("trace", "up").up_at(Where::Members, "trace", "own");
    let options = options.synchronised("interval time 10".parse().unwrap());
    let stream = network.open(&network.everyone(), options).unwrap();
    // A record at 0, 5, 10, 15 and 20 each, the last of which begins another interval.
    order(&stream, 0, 5, 0);
    assert_eq!(next(&stream), "up(up(own(0@0,0@5),own(1@0,1@5)))");
    assert_eq!(next(&stream), "up(up(own(0@10,0@15),own(1@10,1@15)))");
}

pub(crate) fn a_filter_that_fails_at_an_agent_is_told_to_the_front_end() {
    let network = network("2x1", "echo");
    let options = StreamOptions::filter("trace", "up").up_at(Where::Agents, "trace", "strict");
    let stream = network.open(&network.everyone(), options).unwrap();
    let parts = ["good", "bad"].map(|text| Text { text: text.into() });
    // Twice, and it is told once.
    for _ in 0..2 {
        stream.scatter(ECHO, &parts).unwrap();
        assert_eq!(next(&stream), "up(strict(0:good),1:bad)");
    }
    let told = told(&network);
    let [Report::Uncombined { node, stream: of, direction, wave, cause }] = &told[..] else { panic!("{told:?}") };
    assert_eq!((*node, *of, *direction, *wave), (NodeId(2), stream.id(), Direction::Up, WaveNumber(0)));
    assert!(cause.contains("1:bad is bad"), "{cause}");
}

pub(crate) fn a_filter_that_fails_on_the_way_down_is_an_error_in_place_of_the_record() {
    let network = network("2x2", "echo");
    let at = |at| StreamOptions::filter("trace", "up").down_at(at, "trace", "strict");
    let stream = network.open(&network.everyone(), at(Where::Agents)).unwrap();
    for word in ["good", "bad", "better"] {
        stream.send(ECHO, &Text { text: word.into() }).unwrap();
        let came = next(&stream);
        let expected = if word == "bad" { "3:failed: bad is bad" } else { "3:strict(" };
        assert!(came.contains(expected), "{came}");
    }
    let stream = network.open(&network.everyone(), at(Where::Root)).unwrap();
    let error = stream.send(ECHO, &Text { text: "bad".into() }).unwrap_err();
    assert!(matches!(&error, TreeError::Unfiltered { cause, .. } if cause.contains("bad is bad")), "{error}");
    stream.send(ECHO, &Text { text: "good".into() }).unwrap();
    assert!(next(&stream).contains("0:strict(good)"), "what failed has no number");
    let error = network.open(&network.everyone(), StreamOptions::default().down("stamp", "")).unwrap_err();
    assert!(error.to_string().contains("there is no filter stamp"), "{error}");
}

pub(crate) fn a_filter_that_panics_at_an_agent_is_told_and_the_wave_goes_on_in_parts() {
    let network = network("4x4", "echo");
    let options = StreamOptions::filter("trace", "up").up_at(Where::Agents, "brittle", "");
    let stream = network.open(&network.everyone(), options).unwrap();
    for (word, expected) in
        [("go", "1(4:go,5:go,6:go,7:go)"), ("panic", ",4:go,5:panic,6:go,7:go,"), ("go", ",1(4:go,5")]
    {
        stream.scatter(ECHO, &texts(16, 5, word)).unwrap();
        let wave = stream.recv_timeout(deadline()).unwrap();
        let came = wave.read::<Text>().unwrap().text;
        assert!(wave.members().len() == 16 && came.contains(expected), "{wave:?}: {came}");
    }
    let told = told(&network);
    let [Report::Uncombined { node, stream: of, direction, wave, cause }] = &told[..] else { panic!("{told:?}") };
    assert_eq!((*node, *of, *direction, *wave), (NodeId(2), stream.id(), Direction::Up, WaveNumber(1)));
    assert!(cause.contains("filter brittle panicked: no filter for 4:go,5:panic"), "{cause}");
    assert!(cause.contains("what it knew is lost"), "{cause}");
}

pub(crate) fn a_filter_that_panics_at_the_front_end_or_at_a_member_fails_once() {
    let network = network("2x2", "echo");
    let options = StreamOptions::filter("trace", "up").up_at(Where::Root, "brittle", "");
    let stream = network.open(&network.everyone(), options).unwrap();
    stream.scatter(ECHO, &texts(4, 1, "panic")).unwrap();
    let error = stream.recv_timeout(deadline()).unwrap_err();
    assert!(matches!(&error, TreeError::Uncombined { cause, .. } if cause.contains("1:panic")), "{error}");
    stream.scatter(ECHO, &texts(4, 1, "go")).unwrap();
    assert_eq!(next(&stream), "1(up(0:go,1:go),up(2:go,3:go))");
    let options = StreamOptions::filter("trace", "up").up_at(Where::Members, "brittle", "");
    let stream = network.open(&network.everyone(), options).unwrap();
    for (word, expected) in [("panic", "up(1(0:go)),1:panic,"), ("go", "up(2(0:go),1(1:go))")] {
        stream.scatter(ECHO, &texts(4, 1, word)).unwrap();
        let came = next(&stream);
        assert!(came.contains(expected), "{came}");
    }
}

pub(crate) fn a_filter_that_panics_on_the_way_down_is_told_and_an_error_in_place_of_the_record() {
    let network = network("2x2", "echo");
    let options = StreamOptions::filter("trace", "up").down_at(Where::Agents, "brittle", "");
    let stream = network.open(&network.everyone(), options).unwrap();
    for (word, expected) in [("panic", "3:failed: filter brittle panicked: no filter for panic"), ("go", "3:1(go)")] {
        stream.send(ECHO, &Text { text: word.into() }).unwrap();
        let came = next(&stream);
        assert!(came.contains(expected), "{came}");
    }
    let told = told(&network);
    let is_of = |report: &Report, agent: u32| matches!(report, Report::Uncombined { node, direction: Direction::Down, .. } if *node == NodeId(agent));
    assert!(told.len() == 2 && [1, 2].iter().all(|agent| told.iter().any(|told| is_of(told, *agent))), "{told:?}");
    let options = StreamOptions::filter("trace", "up").down_at(Where::Root, "brittle", "");
    let stream = network.open(&network.everyone(), options).unwrap();
    let error = stream.send(ECHO, &Text { text: "panic".into() }).unwrap_err();
    assert!(error.to_string().contains("filter brittle panicked"), "{error}");
    stream.send(ECHO, &Text { text: "go".into() }).unwrap();
    assert!(next(&stream).contains("0:1(go)"));
}

pub(crate) fn a_filter_that_ends_its_agent_ends_none_of_its_members() {
    for word in ["exit", "abort"] {
        let network = network("4x4", "echo");
        let options = StreamOptions::filter("trace", "up").up_at(Where::Agents, "brittle", "");
        let stream = network.open(&network.everyone(), options).unwrap();
        for word in [word, "go"] {
            stream.scatter(ECHO, &texts(16, 5, word)).unwrap();
            let wave = stream.recv_timeout(deadline()).unwrap();
            assert_eq!(wave.members().len(), 16, "{wave:?}");
        }
        let told = told(&network);
        assert!(!told.iter().any(|report| matches!(report, Report::Lost(_))), "{told:?}");
        assert!(told.iter().any(|report| matches!(report, Report::AgentLost(_) | Report::Adrift(_))), "{told:?}");
    }
}
