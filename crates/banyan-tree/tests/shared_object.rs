//! A filter in C, compiled here: parameters, state, errors, records of other machines, and objects that are no filters.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_ndr::{ByteOrder, CStruct, Format, PointerWidth, RecordView};
use banyan_tree::reduce::{FilterRole, Filters, LoadError, ReductionLimits};
use banyan_tree::{Bodies, Combiners, FormatBook, Run, StreamId, Transformation, Transformations, WaveNumber};

/// The sum of `value`, times what the parameters say; how many waves it has seen; and an error for negative values.
const SCALED_SUM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include "banyan_filter.h"

struct input { int32_t value; };
struct output { double sum; uint64_t waves; };
struct state { double factor; uint64_t waves; };

static int create(const char *parameters, size_t length, void **state, char *error) {
    char text[32] = "";
    for (size_t at = 0; at < length && at < sizeof text - 1; at++) text[at] = parameters[at];
    struct state *made = malloc(sizeof *made);
    *made = (struct state){ atof(text), 0 };
    if (made->factor == 0) {
        snprintf(error, BANYAN_ERROR_SIZE, "%s is no factor", text);
        free(made);
        return 1;
    }
    *state = made;
    return 0;
}

static int wave(void *opaque, const banyan_part *parts, size_t count, int place, void *made, char *error) {
    struct state *state = opaque;
    struct output *output = made;
    output->waves = ++state->waves;
    for (size_t at = 0; at < count; at++) {
        if (parts[at].is_partial) {
            output->sum += ((const struct output *)parts[at].record)->sum;
            continue;
        }
        int32_t value = ((const struct input *)parts[at].record)->value;
        if (value < 0) {
            snprintf(error, BANYAN_ERROR_SIZE, "member %u sent %d", parts[at].first_rank, value);
            return 1;
        }
        output->sum += value * state->factor;
    }
    (void)place;
    return 0;
}

static const banyan_field input_fields[] = { { "value", BANYAN_SIGNED, 0, 4, 1 } };
static const banyan_field output_fields[] = { { "sum", BANYAN_FLOAT, 0, 8, 1 }, { "waves", BANYAN_UNSIGNED, 8, 8, 1 } };

const banyan_filter banyan_filter_table = {
    BANYAN_FILTER_VERSION, BANYAN_LOST,
    { "scaled_input", sizeof(struct input), _Alignof(struct input), input_fields, 1 },
    { "scaled_sum", sizeof(struct output), _Alignof(struct output), output_fields, 2 },
    create, wave, free,
};
"#;

/// Compiles a shared object.
fn compile(name: &str, source: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (code, object) = (directory.join(format!("{name}.c")), directory.join(format!("{name}.so")));
    std::fs::write(&code, source).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../banyan-reduce/include");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let compiled = Command::new(compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
        .arg(&object)
        .arg("-I")
        .args([&include, &code])
        .status()
        .expect("a C compiler");
    assert!(compiled.success(), "{name} does not compile");
    object
}

fn load(name: &str, path: &Path) -> Result<Filters, LoadError> {
    let mut filters = Filters::new(ReductionLimits::default());
    // SAFETY: the object was compiled from the text in this file, which keeps to the header.
    unsafe { filters.load(name, path) }.map(|()| filters)
}

/// Values of one member, in waves.
fn run(formats: &FormatBook, rank: u32, order: ByteOrder, values: &[i32]) -> Run {
    let format = CStruct::new("sample", 16, 8).int("other", 0, 8).int("value", 8, 4).build().unwrap();
    let format = format.relaid(order, PointerWidth::NATIVE).unwrap();
    formats.learn(&format).unwrap();
    let body = |value: &i32| {
        let value = if order == ByteOrder::Big { value.to_be_bytes() } else { value.to_le_bytes() };
        [[0; 8].as_slice(), &value, &[0; 4]].concat()
    };
    let bytes: Vec<u8> = values.iter().flat_map(body).collect();
    let bodies = Bodies::of_size(format.id(), 16, values.len() as u32, bytes.into()).unwrap();
    let members = Arc::new(RankSet::from_iter([rank]));
    Run { stream: StreamId(1), first: WaveNumber(0), members, is_fresh: true, is_partial: false, yields: None, bodies }
}

/// Sum and waves of each record.
fn read(formats: &FormatBook, bodies: &Bodies) -> Vec<(f64, u64)> {
    let format: Format = formats.get(bodies.format()).unwrap();
    let read = |body| {
        let view = RecordView::new(&format, body).unwrap();
        (view.value("sum").unwrap(), view.value("waves").unwrap())
    };
    bodies.iter().map(read).collect()
}

#[test]
fn a_filter_in_c_has_parameters_and_state_and_takes_records_of_any_machine() {
    let filters = load("scaled", &compile("scaled_sum", SCALED_SUM)).unwrap();
    let formats = FormatBook::new();
    let combiners = Combiners::new(filters, formats.clone());
    let mut node = combiners.make("scaled 0.5").unwrap();
    let parts = [run(&formats, 0, ByteOrder::Little, &[1, 2, 3]), run(&formats, 1, ByteOrder::Big, &[10, 20, 30])];
    let below = node.combine(&parts, FilterRole::Inner).unwrap();
    assert_eq!(read(&formats, &below), [(5.5, 1), (11.0, 2), (16.5, 3)]);
    // The node above has a state of its own, and merges what came from below with what a member sends.
    let below = Run { members: Arc::new("0-1".parse().unwrap()), is_partial: true, bodies: below, ..parts[0].clone() };
    let mut root = combiners.make("scaled 0.5").unwrap();
    let member = run(&formats, 2, ByteOrder::Big, &[2, 4, 6]);
    let result = root.combine(&[below, member], FilterRole::Root).unwrap();
    assert_eq!(read(&formats, &result), [(6.5, 1), (13.0, 2), (19.5, 3)]);
}

#[test]
fn what_a_filter_in_c_refuses_is_told_in_its_own_words() {
    let filters = load("scaled", &compile("scaled_sum_refuses", SCALED_SUM)).unwrap();
    let formats = FormatBook::new();
    let combiners = Combiners::new(filters, formats.clone());
    let error = combiners.make("scaled nothing").err().expect("no factor").to_string();
    assert_eq!(error, "filter scaled: nothing is no factor");
    let mut node: Box<dyn Transformation> = combiners.make("scaled 1").unwrap();
    let parts = [run(&formats, 7, ByteOrder::Little, &[-3])];
    let error = node.combine(&parts, FilterRole::Inner).unwrap_err().to_string();
    assert_eq!(error, "filter scaled: member 7 sent -3");
    let parts = [run(&formats, 7, ByteOrder::Little, &[3])];
    assert_eq!(read(&formats, &node.combine(&parts, FilterRole::Inner).unwrap()), [(3.0, 2)]);
}

#[test]
fn an_object_that_is_no_filter_is_refused_with_the_reason() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let missing = load("missing", &directory.join("missing.so")).unwrap_err();
    assert!(matches!(missing, LoadError::Object { .. }), "{missing}");
    let empty = compile("empty", "int nothing;\n");
    let error = load("empty", &empty).unwrap_err().to_string();
    assert!(error.ends_with("is not a filter: it exports no banyan_filter_table; see banyan_filter.h"), "{error}");
    for (name, from, to, reason) in [
        (
            "version",
            "BANYAN_FILTER_VERSION, BANYAN_LOST",
            "7u, BANYAN_LOST",
            "it is of version 7, and this program knows 1",
        ),
        ("recovery", "BANYAN_LOST,", "9u,", "there is no recovery 9"),
        ("function", "create, wave, free", "create, 0, free", "one of its functions is missing"),
        ("kind", "BANYAN_FLOAT, 0, 8, 1", "5, 0, 8, 1", "scaled_sum.sum: there is no kind 5"),
        ("overlap", "BANYAN_UNSIGNED, 8, 8, 1", "BANYAN_UNSIGNED, 4, 8, 1", "struct scaled_sum: "),
    ] {
        assert!(SCALED_SUM.contains(from), "{from}");
        // Functions that the table leaves out would be unused otherwise.
        let source = SCALED_SUM.replace(from, to).replace("static int wave", "int wave");
        let error = load(name, &compile(name, &source)).unwrap_err().to_string();
        assert!(error.contains(reason), "{name}: {error}");
    }
}
