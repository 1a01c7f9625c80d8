//! Protocol Buffers by prost. Its messages are structs of their own; decoding to them counts as decoding to a struct.

use prost::Message;

use crate::records;
use crate::rival::Rival;

#[derive(Clone, PartialEq, Message)]
pub struct Elem {
    #[prost(int32, tag = "1")]
    pub id: i32,
    #[prost(int32, tag = "2")]
    pub material: i32,
    #[prost(double, repeated, tag = "3")]
    pub coord: Vec<f64>,
    #[prost(double, repeated, tag = "4")]
    pub disp: Vec<f64>,
    #[prost(float, repeated, tag = "5")]
    pub stress: Vec<f32>,
    #[prost(double, tag = "6")]
    pub energy: f64,
    #[prost(int32, tag = "7")]
    pub flags: i32,
    #[prost(int32, tag = "8")]
    pub node_count: i32,
    #[prost(float, tag = "9")]
    pub temp: f32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Mesh {
    #[prost(int32, tag = "1")]
    pub step: i32,
    #[prost(int32, tag = "2")]
    pub rank: i32,
    #[prost(double, tag = "3")]
    pub time: f64,
    #[prost(double, tag = "4")]
    pub dt: f64,
    #[prost(int64, tag = "5")]
    pub mesh_id: i64,
    #[prost(message, repeated, tag = "6")]
    pub e: Vec<Elem>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Sample {
    #[prost(uint64, tag = "1")]
    pub time: u64,
    #[prost(double, tag = "2")]
    pub load: f64,
    #[prost(uint64, tag = "3")]
    pub resident: u64,
    #[prost(uint32, tag = "4")]
    pub task: u32,
    #[prost(uint32, tag = "5")]
    pub faults: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Report {
    #[prost(string, tag = "1")]
    pub job: String,
    #[prost(string, tag = "2")]
    pub host: String,
    #[prost(uint64, tag = "3")]
    pub sequence: u64,
    #[prost(int32, optional, tag = "4")]
    pub status: Option<i32>,
    #[prost(double, optional, tag = "5")]
    pub limit: Option<f64>,
    #[prost(int32, tag = "6")]
    pub state: i32,
    #[prost(message, repeated, tag = "7")]
    pub samples: Vec<Sample>,
}

impl From<&records::Elem> for Elem {
    fn from(elem: &records::Elem) -> Elem {
        Elem {
            id: elem.id,
            material: elem.material,
            coord: elem.coord.into(),
            disp: elem.disp.into(),
            stress: elem.stress.into(),
            energy: elem.energy,
            flags: elem.flags.into(),
            node_count: elem.node_count.into(),
            temp: elem.temp,
        }
    }
}

impl From<&records::Mesh> for Mesh {
    fn from(mesh: &records::Mesh) -> Mesh {
        Mesh {
            step: mesh.step,
            rank: mesh.rank,
            time: mesh.time,
            dt: mesh.dt,
            mesh_id: mesh.mesh_id,
            e: mesh.e.iter().map(Elem::from).collect(),
        }
    }
}

impl From<&records::Report> for Report {
    fn from(report: &records::Report) -> Report {
        let sample = |sample: &records::Sample| Sample {
            time: sample.time,
            load: sample.load,
            resident: sample.resident,
            task: sample.task,
            faults: sample.faults,
        };
        Report {
            job: report.job.clone(),
            host: report.host.clone(),
            sequence: report.sequence,
            status: report.status,
            limit: report.limit,
            state: report.state as i32,
            samples: report.samples.iter().map(sample).collect(),
        }
    }
}

/// This rival.
pub struct Prost<T> {
    record: T,
    encoded: Vec<u8>,
}

impl<T: Message + Default + PartialEq> Prost<T> {
    /// Ready to measure.
    pub fn new(record: T) -> Self {
        let mut rival = Prost { record, encoded: Vec::new() };
        rival.encode();
        rival
    }
}

impl<T: Message + Default + PartialEq> Rival for Prost<T> {
    fn system(&self) -> &'static str {
        "prost"
    }

    fn encode(&mut self) -> usize {
        self.encoded.clear();
        self.record.encode(&mut self.encoded).expect("encodes");
        self.encoded.len()
    }

    fn decode(&mut self) {
        std::hint::black_box(T::decode(&self.encoded[..]).expect("decodes"));
    }

    fn is_right(&mut self) -> bool {
        T::decode(&self.encoded[..]).expect("decodes") == self.record
    }
}
