//! The records of the bench as the rivals describe them: the same fields and values, with their derives.

use banyan_bench::records::mesh;
use banyan_bench::records::mixed;

/// The element of the plain record.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    serde::Serialize,
    serde::Deserialize,
    bincode::Encode,
    bincode::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub struct Elem {
    pub id: i32,
    pub material: i32,
    pub coord: [f64; 3],
    pub disp: [f64; 3],
    pub stress: [f32; 6],
    pub energy: f64,
    pub flags: i16,
    pub node_count: i16,
    pub temp: f32,
}

/// The plain record.
#[derive(
    Debug,
    Clone,
    PartialEq,
    serde::Serialize,
    serde::Deserialize,
    bincode::Encode,
    bincode::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub struct Mesh {
    pub step: i32,
    pub rank: i32,
    pub time: f64,
    pub dt: f64,
    pub mesh_id: i64,
    pub e: Vec<Elem>,
}

#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    serde::Serialize,
    serde::Deserialize,
    bincode::Encode,
    bincode::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub enum State {
    Pending,
    Running,
    Done,
}

#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    serde::Serialize,
    serde::Deserialize,
    bincode::Encode,
    bincode::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub struct Sample {
    pub time: u64,
    pub load: f64,
    pub resident: u64,
    pub task: u32,
    pub faults: u32,
}

/// The mixed record.
#[derive(
    Debug,
    Clone,
    PartialEq,
    serde::Serialize,
    serde::Deserialize,
    bincode::Encode,
    bincode::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub struct Report {
    pub job: String,
    pub host: String,
    pub sequence: u64,
    pub status: Option<i32>,
    pub limit: Option<f64>,
    pub state: State,
    pub samples: Vec<Sample>,
}

/// The mixed record for XML, which can only leave out what is absent.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct XmlReport {
    pub job: String,
    pub host: String,
    pub sequence: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    pub state: State,
    pub samples: Vec<Sample>,
}

impl From<Report> for XmlReport {
    fn from(report: Report) -> XmlReport {
        let Report { job, host, sequence, status, limit, state, samples } = report;
        XmlReport { job, host, sequence, status, limit, state, samples }
    }
}

impl From<mesh::Elem> for Elem {
    fn from(elem: mesh::Elem) -> Elem {
        let mesh::Elem { id, material, coord, disp, stress, energy, flags, node_count, temp } = elem;
        Elem { id, material, coord, disp, stress, energy, flags, node_count, temp }
    }
}

impl Mesh {
    /// The values of the bench's own mesh with so many elements.
    pub fn sample(elements: usize) -> Mesh {
        let e = (0..elements).map(|index| mesh::Elem::sample(index).into()).collect();
        Mesh { step: 17, rank: 3, time: 0.5, dt: 1e-3, mesh_id: 1 << 40, e }
    }

    /// Bytes of the record in memory, by which the rows of all systems are matched.
    pub fn bytes(&self) -> usize {
        32 + 96 * self.e.len()
    }
}

impl Report {
    /// The values of the bench's own report.
    pub fn sample(samples: usize) -> Report {
        let report = mixed::Report::sample(samples);
        Report {
            job: report.job,
            host: report.host,
            sequence: report.sequence,
            status: report.status,
            limit: report.limit,
            state: match report.state {
                mixed::State::Pending => State::Pending,
                mixed::State::Running => State::Running,
                mixed::State::Done => State::Done,
            },
            samples: report
                .samples
                .into_iter()
                .map(|mixed::Sample { time, load, resident, task, faults }| Sample {
                    time,
                    load,
                    resident,
                    task,
                    faults,
                })
                .collect(),
        }
    }
}
