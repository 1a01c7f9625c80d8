//! FlatBuffers, with tables written by hand against the crate's builder, as its compiler would write them: the element
//! and the sample are FlatBuffers *structs* (its fastest form), mesh and report are tables. Decoding verifies the
//! buffer and reads it to the struct.

use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, Table, VOffsetT, Vector, Verifiable, Verifier};

use crate::records::{Elem, Mesh, Report, Sample, State};
use crate::rival::Rival;

/// Vtable slots of the tables, in order of declaration.
const fn slot(number: VOffsetT) -> VOffsetT {
    4 + 2 * number
}

macro_rules! flat_struct {
    ($name:ident, $size:literal, $put:expr, $get:expr, $record:ty) => {
        /// The struct as it lies in the buffer, little-endian.
        #[derive(Clone, Copy)]
        #[repr(C, align(8))]
        struct $name([u8; $size]);

        impl flatbuffers::SimpleToVerifyInSlice for $name {}

        impl<'a> flatbuffers::Follow<'a> for $name {
            type Inner = &'a $name;
            unsafe fn follow(buffer: &'a [u8], at: usize) -> &'a $name {
                // SAFETY: the verifier checked that a struct of this size lies at this place, aligned.
                unsafe { &*buffer.as_ptr().add(at).cast::<$name>() }
            }
        }

        impl Verifiable for $name {
            fn run_verifier(verifier: &mut Verifier<'_, '_>, at: usize) -> Result<(), flatbuffers::InvalidFlatbuffer> {
                verifier.in_buffer::<Self>(at)
            }
        }

        impl flatbuffers::Push for $name {
            type Output = $name;
            unsafe fn push(&self, dst: &mut [u8], _written: usize) {
                dst.copy_from_slice(&self.0);
            }
            fn alignment() -> flatbuffers::PushAlignment {
                flatbuffers::PushAlignment::new(8)
            }
        }

        impl $name {
            fn put(record: &$record) -> $name {
                let mut out = $name([0; $size]);
                let put: fn(&$record, &mut [u8; $size]) = $put;
                put(record, &mut out.0);
                out
            }

            fn get(&self) -> $record {
                let get: fn(&[u8; $size]) -> $record = $get;
                get(&self.0)
            }
        }
    };
}

macro_rules! at {
    ($bytes:expr, $ty:ty, $at:expr) => {
        <$ty>::from_le_bytes($bytes[$at..$at + size_of::<$ty>()].try_into().expect("of this length"))
    };
}

flat_struct!(
    FlatElem,
    96,
    |elem, out| {
        out[0..4].copy_from_slice(&elem.id.to_le_bytes());
        out[4..8].copy_from_slice(&elem.material.to_le_bytes());
        for (i, x) in elem.coord.iter().chain(&elem.disp).enumerate() {
            out[8 + 8 * i..16 + 8 * i].copy_from_slice(&x.to_le_bytes());
        }
        for (i, x) in elem.stress.iter().enumerate() {
            out[56 + 4 * i..60 + 4 * i].copy_from_slice(&x.to_le_bytes());
        }
        out[80..88].copy_from_slice(&elem.energy.to_le_bytes());
        out[88..90].copy_from_slice(&elem.flags.to_le_bytes());
        out[90..92].copy_from_slice(&elem.node_count.to_le_bytes());
        out[92..96].copy_from_slice(&elem.temp.to_le_bytes());
    },
    |bytes| Elem {
        id: at!(bytes, i32, 0),
        material: at!(bytes, i32, 4),
        coord: std::array::from_fn(|i| at!(bytes, f64, 8 + 8 * i)),
        disp: std::array::from_fn(|i| at!(bytes, f64, 32 + 8 * i)),
        stress: std::array::from_fn(|i| at!(bytes, f32, 56 + 4 * i)),
        energy: at!(bytes, f64, 80),
        flags: at!(bytes, i16, 88),
        node_count: at!(bytes, i16, 90),
        temp: at!(bytes, f32, 92),
    },
    Elem
);

flat_struct!(
    FlatSample,
    32,
    |sample, out| {
        out[0..8].copy_from_slice(&sample.time.to_le_bytes());
        out[8..16].copy_from_slice(&sample.load.to_le_bytes());
        out[16..24].copy_from_slice(&sample.resident.to_le_bytes());
        out[24..28].copy_from_slice(&sample.task.to_le_bytes());
        out[28..32].copy_from_slice(&sample.faults.to_le_bytes());
    },
    |bytes| Sample {
        time: at!(bytes, u64, 0),
        load: at!(bytes, f64, 8),
        resident: at!(bytes, u64, 16),
        task: at!(bytes, u32, 24),
        faults: at!(bytes, u32, 28),
    },
    Sample
);

/// A table that can be verified and read to its record.
struct FlatOne<'a>(Table<'a>);
struct FlatMesh<'a>(Table<'a>);
struct FlatReport<'a>(Table<'a>);

macro_rules! flat_table {
    ($name:ident, $($field:literal, $slot:literal, $ty:ty, $required:literal);*) => {
        impl<'a> flatbuffers::Follow<'a> for $name<'a> {
            type Inner = $name<'a>;
            unsafe fn follow(buffer: &'a [u8], at: usize) -> $name<'a> {
                // SAFETY: the verifier checked the table at this place.
                $name(unsafe { Table::new(buffer, at) })
            }
        }

        impl Verifiable for $name<'_> {
            fn run_verifier(verifier: &mut Verifier<'_, '_>, at: usize) -> Result<(), flatbuffers::InvalidFlatbuffer> {
                verifier.visit_table(at)?$(.visit_field::<$ty>($field, slot($slot), $required)?)*.finish();
                Ok(())
            }
        }
    };
}

flat_table!(FlatOne, "elem", 0, FlatElem, true);
flat_table!(FlatMesh,
    "step", 0, i32, false; "rank", 1, i32, false; "time", 2, f64, false; "dt", 3, f64, false;
    "mesh_id", 4, i64, false; "e", 5, ForwardsUOffset<Vector<'_, FlatElem>>, true);
flat_table!(FlatReport,
    "job", 0, ForwardsUOffset<&str>, true; "host", 1, ForwardsUOffset<&str>, true; "sequence", 2, u64, false;
    "status", 3, i32, false; "limit", 4, f64, false; "state", 5, u8, false;
    "samples", 6, ForwardsUOffset<Vector<'_, FlatSample>>, true);

macro_rules! get {
    ($table:expr, $slot:literal, $ty:ty) => {
        // SAFETY: the verifier checked this field and its type.
        unsafe { $table.get::<$ty>(slot($slot), None) }
    };
}

impl FlatOne<'_> {
    fn to_elem(&self) -> Elem {
        get!(self.0, 0, FlatElem).expect("required").get()
    }
}

impl FlatMesh<'_> {
    fn to_mesh(&self) -> Mesh {
        let elements = get!(self.0, 5, ForwardsUOffset<Vector<'_, FlatElem>>).expect("required");
        Mesh {
            step: get!(self.0, 0, i32).unwrap_or(0),
            rank: get!(self.0, 1, i32).unwrap_or(0),
            time: get!(self.0, 2, f64).unwrap_or(0.0),
            dt: get!(self.0, 3, f64).unwrap_or(0.0),
            mesh_id: get!(self.0, 4, i64).unwrap_or(0),
            e: elements.iter().map(FlatElem::get).collect(),
        }
    }
}

impl FlatReport<'_> {
    fn to_report(&self) -> Report {
        let samples = get!(self.0, 6, ForwardsUOffset<Vector<'_, FlatSample>>).expect("required");
        Report {
            job: get!(self.0, 0, ForwardsUOffset<&str>).expect("required").into(),
            host: get!(self.0, 1, ForwardsUOffset<&str>).expect("required").into(),
            sequence: get!(self.0, 2, u64).unwrap_or(0),
            status: get!(self.0, 3, i32),
            limit: get!(self.0, 4, f64),
            state: match get!(self.0, 5, u8).unwrap_or(0) {
                0 => State::Pending,
                1 => State::Running,
                _ => State::Done,
            },
            samples: samples.iter().map(FlatSample::get).collect(),
        }
    }
}

/// This rival.
pub struct Flat<T> {
    record: T,
    builder: FlatBufferBuilder<'static>,
}

macro_rules! flat_rival {
    ($record:ident, $table:ident, $read:ident, $build:expr) => {
        impl Flat<$record> {
            /// Ready to measure.
            pub fn new(record: &$record) -> Self {
                let mut rival = Flat { record: record.clone(), builder: FlatBufferBuilder::new() };
                rival.encode();
                rival
            }

            fn read(&self) -> $record {
                flatbuffers::root::<$table<'_>>(self.builder.finished_data()).expect("valid").$read()
            }
        }

        impl Rival for Flat<$record> {
            fn system(&self) -> &'static str {
                "flatbuffers"
            }

            fn encode(&mut self) -> usize {
                self.builder.reset();
                let build: fn(&$record, &mut FlatBufferBuilder<'static>) = $build;
                build(&self.record, &mut self.builder);
                self.builder.finished_data().len()
            }

            fn decode(&mut self) {
                std::hint::black_box(self.read());
            }

            fn is_right(&mut self) -> bool {
                self.read() == self.record
            }
        }
    };
}

flat_rival!(Elem, FlatOne, to_elem, |elem, builder| {
    let table = builder.start_table();
    builder.push_slot_always(slot(0), FlatElem::put(elem));
    let root = builder.end_table(table);
    builder.finish(root, None);
});

flat_rival!(Mesh, FlatMesh, to_mesh, |mesh, builder| {
    let e = builder.create_vector_from_iter(mesh.e.iter().map(FlatElem::put));
    let table = builder.start_table();
    builder.push_slot(slot(0), mesh.step, 0);
    builder.push_slot(slot(1), mesh.rank, 0);
    builder.push_slot(slot(2), mesh.time, 0.0);
    builder.push_slot(slot(3), mesh.dt, 0.0);
    builder.push_slot(slot(4), mesh.mesh_id, 0);
    builder.push_slot_always(slot(5), e);
    let root = builder.end_table(table);
    builder.finish(root, None);
});

flat_rival!(Report, FlatReport, to_report, |report, builder| {
    let job = builder.create_string(&report.job);
    let host = builder.create_string(&report.host);
    let samples = builder.create_vector_from_iter(report.samples.iter().map(FlatSample::put));
    let table = builder.start_table();
    builder.push_slot_always(slot(0), job);
    builder.push_slot_always(slot(1), host);
    builder.push_slot(slot(2), report.sequence, 0);
    if let Some(status) = report.status {
        builder.push_slot_always(slot(3), status);
    }
    if let Some(limit) = report.limit {
        builder.push_slot_always(slot(4), limit);
    }
    builder.push_slot(slot(5), report.state as u8, 0);
    builder.push_slot_always(slot(6), samples);
    let root = builder.end_table(table);
    builder.finish(root, None);
});
