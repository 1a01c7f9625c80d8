//! Filters on runs of waves: many at once as one by one, errors where they belong, and streams without a filter.

use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_ndr::{ByteOrder, CStruct, Format, FormatId, Limits, PointerWidth, Record, RecordView};
use banyan_tree::reduce::{
    Aligned, Collected, Filter, FilterError, FilterRole, Filters, Output, Part, Recovery, Reduction, ReductionLimits,
};
use banyan_tree::{
    Bodies, Combiners, FormatBook, Opening, Run, StreamId, StreamOptions, Transformation, Transformations, WaveNumber,
};
use proptest::prelude::*;

/// A record of 24 bytes, in the byte order of some machine.
fn sample(order: ByteOrder) -> Format {
    let record = CStruct::new("sample", 24, 8).int("small", 0, 4).int("large", 8, 8).float("real", 16, 8);
    record.build().unwrap().relaid(order, PointerWidth::NATIVE).unwrap()
}

fn encode(order: ByteOrder, (small, large, real): (i32, i64, f64)) -> [u8; 24] {
    let mut body = [0; 24];
    let mut put = |at: usize, bytes: &mut [u8]| {
        if order != ByteOrder::NATIVE {
            bytes.reverse();
        }
        body[at..at + bytes.len()].copy_from_slice(bytes);
    };
    put(0, &mut small.to_ne_bytes());
    put(8, &mut large.to_ne_bytes());
    put(16, &mut real.to_ne_bytes());
    body
}

fn combiners(formats: &FormatBook) -> Combiners {
    Combiners::new(Filters::new(ReductionLimits::default()), formats.clone())
}

fn run(members: &str, is_partial: bool, bodies: Bodies) -> Run {
    let members: Arc<RankSet> = Arc::new(members.parse().unwrap());
    Run { stream: StreamId(1), first: WaveNumber(0), members, is_fresh: true, is_partial, yields: None, bodies }
}

/// Everything there is of a run, wave by wave.
fn all(
    combiner: &mut dyn Transformation,
    parts: &[Run],
    place: FilterRole,
) -> Vec<Result<(FormatId, Vec<u8>), String>> {
    let mut made = Vec::new();
    let end = parts[0].end();
    let mut next = parts[0].first;
    while next < end {
        let rest: Vec<Run> = parts.iter().map(|part| part.within(next..end).unwrap()).collect();
        match combiner.combine(&rest, place) {
            Ok(bodies) => {
                made.extend(bodies.iter().map(|body| Ok((bodies.format(), body.to_vec()))));
                next = next.after(bodies.len());
            }
            Err(error) => {
                made.push(Err(error.to_string()));
                next = next.after(1);
            }
        }
    }
    made
}

fn specification() -> impl Strategy<Value = String> {
    let path = prop::sample::select(vec!["small", "large", "real"]);
    let function = (prop::sample::select(vec!["sum", "avg", "min", "max", "count", "exact_sum"]), path);
    let list = prop::collection::btree_set(function.prop_map(|(name, path)| format!("{name}({path})")), 1..4);
    list.prop_map(|list| list.into_iter().chain(["count()".into()]).collect::<Vec<_>>().join(", "))
}

fn value() -> impl Strategy<Value = (i32, i64, f64)> {
    let real = prop_oneof![any::<f64>(), Just(0.0), Just(-0.0), Just(f64::NAN), (-4i8..4).prop_map(f64::from)];
    (-3i32..3, prop_oneof![any::<i64>(), -3i64..3], real)
}

proptest! {
    #[test]
    fn many_waves_at_once_are_the_same_bits_as_one_by_one(
        text in specification(),
        values in prop::collection::vec(prop::collection::vec(value(), 5), 1..6),
        foreign in prop::collection::vec(any::<bool>(), 6),
    ) {
        let formats = FormatBook::new();
        let members: Vec<(Format, Vec<[u8; 24]>)> = values.iter().zip(&foreign).map(|(values, foreign)| {
            let order = if *foreign { ByteOrder::Big } else { ByteOrder::Little };
            let format = sample(order);
            formats.learn(&format).unwrap();
            (format, values.iter().map(|value| encode(order, *value)).collect())
        }).collect();
        let runs: Vec<Run> = members.iter().enumerate().map(|(rank, (format, bodies))| {
            run(&rank.to_string(), false, Bodies::of_size(format.id(), 24, 5, bodies.concat().into()).unwrap())
        }).collect();
        for place in [FilterRole::Inner, FilterRole::Root] {
            let mut combiner = combiners(&formats).make(&format!("reduce {text}")).unwrap();
            let made = all(&mut *combiner, &runs, place);
            let mut reduction = Reduction::new(text.parse().unwrap(), ReductionLimits::default());
            for (wave, made) in made.into_iter().enumerate() {
                let mut out = Output::new();
                let parts: Vec<Part<'_>> = runs.iter().zip(&members).map(|(run, (format, bodies))| {
                    Part { members: &run.members, format, body: &bodies[wave], is_partial: false }
                }).collect();
                let alone = reduction.wave(&parts, place, &mut out).map_err(|error| error.to_string());
                let alone = alone.map(|()| (out.records()[0].0.id(), out.records()[0].1.to_vec()));
                prop_assert_eq!(made, alone, "wave {}", wave);
            }
        }
        // Two nodes below, and one above them that merges what they made.
        let cut = runs.len().div_ceil(2);
        let mut combiner = combiners(&formats).make(&format!("reduce {text}")).unwrap();
        let below: Vec<Run> = runs.chunks(cut).enumerate().map(|(at, runs)| {
            let bodies = combiner.combine(runs, FilterRole::Inner).unwrap();
            let first = at * cut;
            run(&format!("{first}-{}", first + runs.len() - 1), true, bodies)
        }).collect();
        let above = all(&mut *combiner, &below, FilterRole::Root);
        let mut reduction = Reduction::new(text.parse().unwrap(), ReductionLimits::default());
        for (wave, above) in above.into_iter().enumerate() {
            let (_, body) = above.unwrap();
            let mut out = Output::new();
            let known: Vec<Format> = below.iter().map(|run| formats.get(run.bodies.format()).unwrap()).collect();
            let parts: Vec<Part<'_>> = below.iter().zip(&known).map(|(run, format)| {
                Part { members: &run.members, format, body: run.bodies.get(wave as u32), is_partial: true }
            }).collect();
            reduction.wave(&parts, FilterRole::Root, &mut out).unwrap();
            prop_assert_eq!(body, out.records()[0].1.to_vec(), "wave {}", wave);
        }
    }
}

#[test]
fn a_wave_that_fails_does_not_spoil_those_beside_it() {
    let formats = FormatBook::new();
    let format = CStruct::new("flagged", 1, 1).boolean("flag", 0, 1).build().unwrap();
    formats.learn(&format).unwrap();
    let mut combiner = combiners(&formats).make("reduce sum(flag)").unwrap();
    let bodies = Bodies::of_size(format.id(), 1, 4, vec![1u8, 1, 7, 1].into()).unwrap();
    let made = all(&mut *combiner, &[run("3", false, bodies)], FilterRole::Root);
    let is_good: Vec<bool> = made.iter().map(Result::is_ok).collect();
    assert_eq!(is_good, [true, true, false, true]);
    assert!(made[2].as_ref().unwrap_err().starts_with("members 3: "), "{made:?}");
}

/// Passes records on, twice as many as the body of the first says; shortens those of even waves; and remembers how
/// many it has seen.
struct Moody {
    seen: u64,
}

impl Filter for Moody {
    fn wave(&mut self, parts: &[Part<'_>], _: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        self.seen += 1;
        match parts[0].body {
            [0] => Ok(()),
            [9] => Err(FilterError::Custom(format!("wave {} is not good", self.seen))),
            [1] => {
                out.push(parts[0].format, parts[0].body);
                Ok(())
            }
            _ => {
                let wide = CStruct::new("wide", 8, 8).int("seen", 0, 8).build().unwrap();
                out.push(&wide, &self.seen.to_ne_bytes());
                Ok(())
            }
        }
    }

    fn recovery(&self) -> Recovery {
        Recovery::Lost
    }
}

#[test]
fn a_filter_sees_every_wave_once_whatever_it_makes_of_it() {
    let formats = FormatBook::new();
    let format = CStruct::new("byte", 1, 1).int("x", 0, 1).build().unwrap();
    formats.learn(&format).unwrap();
    let mut filters = Filters::new(ReductionLimits::default());
    filters.register("moody", |_| Ok(Box::new(Moody { seen: 0 })));
    let mut combiner = Combiners::new(filters, formats.clone()).make("moody").unwrap();
    let bodies = Bodies::of_size(format.id(), 1, 8, vec![1u8, 2, 1, 9, 0, 2, 2, 1].into()).unwrap();
    let made = all(&mut *combiner, &[run("0", false, bodies)], FilterRole::Inner);
    let seen = |number: u64| number.to_ne_bytes().to_vec();
    let bodies: Vec<Result<Vec<u8>, String>> = made.into_iter().map(|made| made.map(|(_, body)| body)).collect();
    let expected = [
        Ok(vec![1]),
        Ok(seen(2)),
        Ok(vec![1]),
        Err("wave 4 is not good".to_owned()),
        Err("filter moody made 0 records of a wave; on a stream with waves a filter makes exactly one of each"
            .to_owned()),
        Ok(seen(6)),
        Ok(seen(7)),
        Ok(vec![1]),
    ];
    assert_eq!(bodies, expected);
}

/// What records lacked since this was last asked, with whose they are.
fn missing(combiner: &mut dyn Transformation) -> Vec<(String, u32)> {
    combiner.missing_fields().into_iter().map(|missing| (missing.field.to_string(), missing.member)).collect()
}

#[test]
fn fields_that_records_lack_are_told_once_for_each_member() {
    let formats = FormatBook::new();
    let whole = CStruct::new("whole", 16, 8).int("load", 0, 8).int("temp", 8, 8).build().unwrap();
    let old = CStruct::new("old", 8, 8).int("load", 0, 8).build().unwrap();
    [&whole, &old].into_iter().for_each(|format| formats.learn(format).unwrap());
    let of = |rank: &str, format: &Format| run(rank, false, Bodies::one(format.id(), vec![0; format.size()].into()));
    let make = |text: &str| combiners(&formats).make(text).unwrap();
    let text = "reduce sum(load), max(temp), avg(temp)";
    let expected = |ranks: &[u32]| -> Vec<(String, u32)> {
        ranks.iter().map(|rank| ("temp of max(temp), avg(temp)".to_owned(), *rank)).collect()
    };
    let mut agent = make(text);
    for ranks in [&[3, 5][..], &[]] {
        agent.combine(&[of("1", &whole), of("3", &old), of("5", &old)], FilterRole::Inner).unwrap();
        assert_eq!(missing(&mut *agent), expected(ranks));
    }
    // What was made of one member's records says it, too; what was made of several says nothing of each.
    for (ranks, told) in [("3", &[3][..]), ("3,5", &[])] {
        let members: RankSet = ranks.parse().unwrap();
        let parts: Vec<Run> = members.iter().map(|rank| of(&rank.to_string(), &old)).collect();
        let made = make(text).combine(&parts, FilterRole::Inner).unwrap();
        let mut above = make(text);
        above.combine(&[of("1", &whole), run(ranks, true, made)], FilterRole::Inner).unwrap();
        assert_eq!(missing(&mut *above), expected(told), "{ranks}");
    }
    let mut sifting = make(text);
    for ranks in [&[3][..], &[]] {
        sifting.sift(&of("3", &old), FilterRole::Inner).unwrap();
        assert_eq!(missing(&mut *sifting), expected(ranks));
    }
    let mut grouped = make("reduce count() by temp");
    grouped.combine(&[of("1", &whole), of("3", &old)], FilterRole::Inner).unwrap();
    assert_eq!(missing(&mut *grouped), [("temp of by temp".to_owned(), 3)]);
    let mut strict = make("reduce strict max(temp)");
    strict.combine(&[of("3", &old)], FilterRole::Inner).unwrap_err();
    assert_eq!(missing(&mut *strict), []);
}

#[test]
fn a_format_that_nobody_has_described_is_named() {
    let formats = FormatBook::new();
    let mut combiner = combiners(&formats).make("reduce sum(x)").unwrap();
    let bodies = Bodies::one(FormatId::from_bytes([5; 16]), vec![0u8; 4].into());
    let error = combiner.combine(&[run("4-6", true, bodies)], FilterRole::Root).unwrap_err().to_string();
    assert!(error.starts_with("members 4-6 send records of format 0505"), "{error}");
}

#[test]
fn a_stream_without_a_filter_has_the_records_of_all_in_the_order_of_ranks() {
    let formats = FormatBook::new();
    let byte = CStruct::new("byte", 1, 1).int("x", 0, 1).build().unwrap();
    let word = CStruct::new("word", 4, 4).int("x", 0, 4).build().unwrap();
    formats.learn(&byte).unwrap();
    formats.learn(&word).unwrap();
    let mut combiner = combiners(&formats).make("").unwrap();
    let bytes = |rank: u8| {
        let bodies = Bodies::of_size(byte.id(), 1, 2, vec![rank, rank + 100].into()).unwrap();
        run(&rank.to_string(), false, bodies)
    };
    let words = |rank: i32| {
        let bodies = [rank.to_ne_bytes(), (rank + 100).to_ne_bytes()].concat();
        run(&rank.to_string(), false, Bodies::of_size(word.id(), 4, 2, bodies.into()).unwrap())
    };
    let one = run("1,4", true, combiner.combine(&[bytes(1), words(4)], FilterRole::Inner).unwrap());
    let other = run("2-3", true, combiner.combine(&[words(2), bytes(3)], FilterRole::Inner).unwrap());
    let made = combiner.combine(&[bytes(0), one, other], FilterRole::Root).unwrap();
    let format = formats.get(made.format()).unwrap();
    for (wave, body) in made.iter().enumerate() {
        let collected = Collected::read(&format, body, &Limits::default()).unwrap();
        let read = collected.iter().map(|record| {
            let view = RecordView::new(&record.format, &record.body).unwrap();
            (record.rank, record.format.name(), view.value::<i32>("x").unwrap())
        });
        let up = 100 * wave as i32;
        let expected =
            [(0, "byte", up), (1, "byte", 1 + up), (2, "word", 2 + up), (3, "byte", 3 + up), (4, "word", 4 + up)];
        assert_eq!(read.collect::<Vec<_>>(), expected);
    }
    let half = &made.get(0)[..made.get(0).len() / 2];
    assert!(Collected::read(&format, half, &Limits::default()).is_err());
}

/// What became of a member's records.
struct Contributions {
    /// Wave and body.
    made: Vec<(u64, Vec<u8>)>,
    refused: Vec<String>,
    formats: FormatBook,
    format: FormatId,
}

/// Opens a stream of intervals of ten, and puts records of member 7 into it: pairs of time and load.
fn aligned(text: &str, records: &[(i64, i64)]) -> Contributions {
    let format = CStruct::new("timed", 16, 8).int("time", 0, 8).int("load", 8, 8).build().unwrap();
    let formats = FormatBook::new();
    let synchronisation = "interval time 10 from 100".parse().unwrap();
    let members = Arc::new(RankSet::from_iter([7]));
    let (name, parameters) = text.split_once(' ').unwrap_or((text, ""));
    let options = StreamOptions::filter(name, parameters).synchronised(synchronisation);
    let opening = Opening { stream: StreamId(1), members, options };
    let mut alignment = combiners(&formats).alignment(&opening, 7).unwrap().unwrap();
    let (mut made, mut refused, mut made_format) = (Vec::new(), Vec::new(), FormatId::from_bytes([0; 16]));
    let mut add = |aligned: Option<Aligned>| {
        if let Some(Aligned { wave, format, body, .. }) = aligned {
            formats.learn(&format).unwrap();
            made_format = format.id();
            made.push((wave, body.to_vec()));
        }
    };
    for (time, load) in records {
        let body = [time.to_ne_bytes(), load.to_ne_bytes()].concat();
        match alignment.take(&format, &body) {
            Ok(aligned) => add(aligned),
            Err(error) => refused.push(error.to_string()),
        }
    }
    add(alignment.finish().unwrap());
    add(alignment.finish().unwrap());
    Contributions { made, refused, formats, format: made_format }
}

#[test]
fn records_of_an_interval_become_one_contribution_of_their_member() {
    let many = (0..1000).map(|load| (125, load));
    let records: Vec<(i64, i64)> = [(101, 5), (109, 7), (110, 1)].into_iter().chain(many).collect();
    let Contributions { made, refused, formats, format: id } = aligned("reduce sum(load), count()", &records);
    assert_eq!(refused, [""; 0]);
    let waves: Vec<u64> = made.iter().map(|(wave, _)| *wave).collect();
    assert_eq!(waves, [0, 1, 2]);
    let mut root = combiners(&formats).make("reduce sum(load), count()").unwrap();
    let results: Vec<(i64, u64)> = made
        .into_iter()
        .map(|(_, body)| {
            let result = root.combine(&[run("7", true, Bodies::one(id, body.into()))], FilterRole::Root).unwrap();
            let format = formats.get(result.format()).unwrap();
            let view = RecordView::new(&format, result.get(0)).unwrap();
            (view.value("\"sum(load)\"").unwrap(), view.value("\"count()\"").unwrap())
        })
        .collect();
    assert_eq!(results, [(12, 2), (1, 1), (499_500, 1000)]);
}

#[test]
fn records_of_intervals_that_are_over_or_never_begin_are_refused() {
    let Contributions { made, refused, .. } = aligned("", &[(99, 0), (121, 0), (105, 0), (122, 0)]);
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].0, 2);
    let expected = [
        "time is 99, which is before the first interval, or no number",
        "time lies in interval 0, and 2 has begun; send records in the order of time",
    ];
    assert_eq!(refused, expected);
}

#[test]
fn a_record_far_ahead_is_refused_with_its_value_and_a_start_that_suits_it() {
    let Contributions { made, refused, .. } = aligned("", &[(101, 0), (1_700_000_000, 0), (119, 0)]);
    assert_eq!(made.iter().map(|(wave, _)| *wave).collect::<Vec<_>>(), [0, 1]);
    let expected = "time is 1700000000, which lies 169999990 intervals ahead (interval time 10 from 100), and 16777216 are \
                    the most; if the value is right, open the stream with a start near it: interval time 10 from 1700000000";
    assert_eq!(refused, [expected]);
}

/// Of a record: how many to make.
#[derive(Record, Debug, PartialEq)]
struct Copies {
    small: u32,
}

/// Makes as many records as a part says, each with its number.
struct Copier;

impl Filter for Copier {
    fn wave(&mut self, parts: &[Part<'_>], _: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        for part in parts {
            let Copies { small } = part.read()?;
            (0..small).try_for_each(|small| out.push_record(&Copies { small }))?;
        }
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}

#[test]
fn a_filter_of_a_stream_without_waves_makes_any_number_of_records_of_one() {
    let (mut filters, formats) = (Filters::default(), FormatBook::new());
    filters.register("copy", |_| Ok(Box::new(Copier)));
    let mut combiner = Combiners::new(filters, formats.clone()).make("copy").unwrap();
    // Its fields are found by name, in whatever byte order.
    let order = if ByteOrder::NATIVE == ByteOrder::Little { ByteOrder::Big } else { ByteOrder::Little };
    let format = sample(order);
    formats.learn(&format).unwrap();
    let records = |copies: &[i32]| {
        let bodies: Vec<u8> = copies.iter().flat_map(|copies| encode(order, (*copies, 0, 0.0)).to_vec()).collect();
        let count = copies.len() as u32;
        let size = bodies.len() as u32 / count;
        run("4", false, Bodies::of_size(format.id(), size, count, bodies.into()).unwrap())
    };
    for copies in [&[3, 0, 1, 0, 2][..], &[0, 0], &[1, 1, 1], &[0], &[2, 0]] {
        let sifted = combiner.sift(&records(copies), FilterRole::Inner).unwrap();
        assert!(sifted.is_partial && sifted.len() == copies.len() as u32, "{sifted:?}");
        let made: Vec<(u32, u32)> =
            copies.iter().zip(0..).flat_map(|(copies, at)| (0..*copies as u32).map(move |small| (at, small))).collect();
        let Some(yields) = &sifted.yields else {
            assert!(if made.is_empty() {
                sifted.bodies.are_absent()
            } else {
                copies.iter().all(|copies| *copies == 1)
            });
            continue;
        };
        let numbers = sifted
            .bodies
            .iter()
            .map(|body| RecordView::new(Copies::format(), body).unwrap().value::<u32>("small").unwrap());
        assert_eq!(yields.sources().iter().copied().zip(numbers).collect::<Vec<_>>(), made);
    }
    // Each of these is a record for the filter of the next node: of 2 come 0 and 1, and of these none and one.
    let once = combiner.sift(&records(&[2, 1, 3]), FilterRole::Inner).unwrap();
    let twice = combiner.sift(&once, FilterRole::Inner).unwrap();
    assert_eq!((twice.len(), twice.yields.unwrap().sources()), (3, &[0, 2, 2, 2][..]));
    // What comes before a record that it fails in is one run, and that record is next.
    let mixed = records(&[2, 0, -1, 1]);
    let before = combiner.sift(&mixed, FilterRole::Inner).unwrap();
    assert_eq!((before.len(), before.bodies.len()), (2, 2));
    let rest = mixed.within(WaveNumber(2)..WaveNumber(4)).unwrap();
    let error = combiner.sift(&rest, FilterRole::Inner).unwrap_err().to_string();
    assert!(error.starts_with("members 4: "), "{error}");
}

#[test]
fn memory_that_is_used_again_is_empty_however_a_record_is_added() {
    let mut output = Output::new();
    output.push(Copies::format(), &[1; 40]);
    output.clear();
    output.add(Copies::format()).extend_from_slice(&[2; 4]);
    assert_eq!(&output.records()[0].1[..], [2; 4]);
    output.clear();
    output.push_record(&Copies { small: 7 }).unwrap();
    assert_eq!(&output.records()[0].1[..], 7_u32.to_ne_bytes());
}

/// Makes records of two formats, of one or of several.
struct Changing;

impl Filter for Changing {
    fn wave(&mut self, parts: &[Part<'_>], _: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        let Copies { small } = parts[0].read()?;
        match small {
            0 => out.push_record(&Copies { small: 7 }),
            1 => out.push_record(&Names { name: "seven".into() }),
            2 => out.push_record(&Copies { small }).and_then(|()| out.push_record(&Names { name: "two".into() })),
            many => (0..many).try_for_each(|small| out.push_record(&Copies { small })),
        }
    }

    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}

#[derive(Record)]
struct Names {
    name: String,
}

#[test]
fn records_of_another_format_begin_another_run_and_those_of_one_record_have_one_format() {
    let (mut filters, formats) = (Filters::default(), FormatBook::new());
    filters.register("change", |_| Ok(Box::new(Changing)));
    let mut combiner = Combiners::new(filters, formats.clone()).make("change").unwrap();
    formats.learn(Copies::format()).unwrap();
    let numbers = [0, 0, 1, 0, 2, 5000, 0_u32];
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    let bodies = Bodies::of_size(Copies::format().id(), 4, numbers.len() as u32, bytes.into()).unwrap();
    let (mut rest, mut made) = (Some(run("4", false, bodies)), Vec::new());
    while let Some(run) = rest {
        let (until, what) = match combiner.sift(&run, FilterRole::Inner) {
            Ok(sifted) => (sifted.end(), Ok((sifted.len(), sifted.bodies.format()))),
            Err(error) => (run.first.after(1), Err(error.to_string())),
        };
        made.push(what);
        rest = run.within(until..run.end());
    }
    let (copies, names) = (Copies::format().id(), Names::format().id());
    let mixed = "filter change made records of several formats of one; give them one format";
    let many = "filter change made 5000 records of one; it may make 4096";
    let expected =
        [Ok((2, copies)), Ok((1, names)), Ok((1, copies)), Err(mixed.into()), Err(many.into()), Ok((1, copies))];
    assert_eq!(made, expected);
}
