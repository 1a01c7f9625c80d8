//! Cap'n Proto, with the code its compiler generates. Decoding reads the message to the struct.

use capnp::message::{Builder, HeapAllocator, ReaderOptions};
use capnp::serialize;

use crate::records::{Elem, Mesh, Report, Sample, State};
use crate::records_capnp as schema;
use crate::rival::Rival;

/// This rival.
pub struct Cap<T> {
    record: T,
    encoded: Vec<u8>,
}

fn write_mesh(mesh: &Mesh, message: &mut Builder<HeapAllocator>) {
    let mut root = message.init_root::<schema::mesh::Builder<'_>>();
    root.set_step(mesh.step);
    root.set_rank(mesh.rank);
    root.set_time(mesh.time);
    root.set_dt(mesh.dt);
    root.set_mesh_id(mesh.mesh_id);
    let mut elements = root.init_e(mesh.e.len() as u32);
    for (i, elem) in mesh.e.iter().enumerate() {
        put_elem(elem, elements.reborrow().get(i as u32));
    }
}

fn write_elem(elem: &Elem, message: &mut Builder<HeapAllocator>) {
    put_elem(elem, message.init_root::<schema::elem::Builder<'_>>());
}

fn put_elem(elem: &Elem, mut out: schema::elem::Builder<'_>) {
    out.set_id(elem.id);
    out.set_material(elem.material);
    out.set_coord(&elem.coord[..]).expect("fits");
    out.set_disp(&elem.disp[..]).expect("fits");
    out.set_stress(&elem.stress[..]).expect("fits");
    out.set_energy(elem.energy);
    out.set_flags(elem.flags);
    out.set_node_count(elem.node_count);
    out.set_temp(elem.temp);
}

fn read_elem(elem: schema::elem::Reader<'_>) -> capnp::Result<Elem> {
    let (coord, disp, stress) = (elem.get_coord()?, elem.get_disp()?, elem.get_stress()?);
    Ok(Elem {
        id: elem.get_id(),
        material: elem.get_material(),
        coord: std::array::from_fn(|i| coord.get(i as u32)),
        disp: std::array::from_fn(|i| disp.get(i as u32)),
        stress: std::array::from_fn(|i| stress.get(i as u32)),
        energy: elem.get_energy(),
        flags: elem.get_flags(),
        node_count: elem.get_node_count(),
        temp: elem.get_temp(),
    })
}

fn read_mesh(root: schema::mesh::Reader<'_>) -> capnp::Result<Mesh> {
    Ok(Mesh {
        step: root.get_step(),
        rank: root.get_rank(),
        time: root.get_time(),
        dt: root.get_dt(),
        mesh_id: root.get_mesh_id(),
        e: root.get_e()?.iter().map(read_elem).collect::<capnp::Result<_>>()?,
    })
}

fn write_report(report: &Report, message: &mut Builder<HeapAllocator>) {
    let mut root = message.init_root::<schema::report::Builder<'_>>();
    root.set_job(&report.job);
    root.set_host(&report.host);
    root.set_sequence(report.sequence);
    match report.status {
        Some(status) => root.reborrow().init_status().set_some_status(status),
        None => root.reborrow().init_status().set_no_status(()),
    }
    match report.limit {
        Some(limit) => root.reborrow().init_limit().set_some_limit(limit),
        None => root.reborrow().init_limit().set_no_limit(()),
    }
    root.set_state(match report.state {
        State::Pending => schema::State::Pending,
        State::Running => schema::State::Running,
        State::Done => schema::State::Done,
    });
    let mut samples = root.init_samples(report.samples.len() as u32);
    for (i, sample) in report.samples.iter().enumerate() {
        let mut out = samples.reborrow().get(i as u32);
        out.set_time(sample.time);
        out.set_load(sample.load);
        out.set_resident(sample.resident);
        out.set_task(sample.task);
        out.set_faults(sample.faults);
    }
}

fn read_report(root: schema::report::Reader<'_>) -> capnp::Result<Report> {
    let sample = |sample: schema::sample::Reader<'_>| Sample {
        time: sample.get_time(),
        load: sample.get_load(),
        resident: sample.get_resident(),
        task: sample.get_task(),
        faults: sample.get_faults(),
    };
    Ok(Report {
        job: root.get_job()?.to_string()?,
        host: root.get_host()?.to_string()?,
        sequence: root.get_sequence(),
        status: match root.get_status().which()? {
            schema::report::status::NoStatus(()) => None,
            schema::report::status::SomeStatus(status) => Some(status),
        },
        limit: match root.get_limit().which()? {
            schema::report::limit::NoLimit(()) => None,
            schema::report::limit::SomeLimit(limit) => Some(limit),
        },
        state: match root.get_state()? {
            schema::State::Pending => State::Pending,
            schema::State::Running => State::Running,
            schema::State::Done => State::Done,
        },
        samples: root.get_samples()?.iter().map(sample).collect(),
    })
}

macro_rules! cap_rival {
    ($record:ident, $schema:ident, $write:ident, $read:ident) => {
        impl Cap<$record> {
            /// Ready to measure.
            pub fn new(record: &$record) -> Self {
                let mut rival = Cap { record: record.clone(), encoded: Vec::new() };
                rival.encode();
                rival
            }

            fn read(&self) -> $record {
                let message = serialize::read_message_from_flat_slice(&mut &self.encoded[..], ReaderOptions::new());
                let message = message.expect("a message");
                $read(message.get_root::<schema::$schema::Reader<'_>>().expect("the root")).expect("valid")
            }
        }

        impl Rival for Cap<$record> {
            fn system(&self) -> &'static str {
                "capnp"
            }

            fn encode(&mut self) -> usize {
                let mut message = Builder::new_default();
                $write(&self.record, &mut message);
                self.encoded.clear();
                serialize::write_message(&mut self.encoded, &message).expect("encodes");
                self.encoded.len()
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

cap_rival!(Elem, elem, write_elem, read_elem);
cap_rival!(Mesh, mesh, write_mesh, read_mesh);
cap_rival!(Report, report, write_report, read_report);
