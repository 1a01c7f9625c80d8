//! The mixed record: what programs really send. A string, an optional value, an enumeration, and a list of nested
//! records with strings of their own.

use banyan_ndr::Record;

/// State of a job.
#[derive(Record, Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Waiting.
    Pending,
    /// Under way.
    Running,
    /// Ended.
    Done,
}

/// One measurement of a task.
#[derive(Record, Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Sample {
    /// When, in nanoseconds.
    pub time: u64,
    /// Load of the processor.
    pub load: f64,
    /// Resident memory.
    pub resident: u64,
    /// Which task.
    pub task: u32,
    /// Page faults.
    pub faults: u32,
}

/// A report, as its receiver uses it: everything borrowed from where it was received.
#[derive(Record, Debug, Clone, PartialEq)]
#[record(rename = "Report")]
pub struct ReportRef<'a> {
    /// Name of the job.
    pub job: &'a str,
    /// Host it runs on.
    pub host: &'a str,
    /// Number of the report.
    pub sequence: u64,
    /// Exit status, once there is one.
    pub status: Option<i32>,
    /// Time limit in seconds, if any.
    pub limit: Option<f64>,
    /// State of the job.
    pub state: State,
    /// What was measured.
    pub samples: &'a [Sample],
}

/// A report that owns everything, for comparison with systems that cannot borrow.
#[derive(Record, Debug, Clone, PartialEq)]
#[record(rename = "Report")]
pub struct Report {
    /// Name of the job.
    pub job: String,
    /// Host it runs on.
    pub host: String,
    /// Number of the report.
    pub sequence: u64,
    /// Exit status, once there is one.
    pub status: Option<i32>,
    /// Time limit in seconds, if any.
    pub limit: Option<f64>,
    /// State of the job.
    pub state: State,
    /// What was measured.
    pub samples: Vec<Sample>,
}

impl Report {
    /// A report with so many samples.
    pub fn sample(samples: usize) -> Report {
        Report {
            job: "climate-ensemble-0042".into(),
            host: "node[0117].rack3".into(),
            sequence: 918_273,
            status: None,
            limit: Some(86_400.0),
            state: State::Running,
            samples: (0..samples).map(sample).collect(),
        }
    }
}

fn sample(index: usize) -> Sample {
    Sample {
        time: 1_700_000_000_000_000_000 + index as u64 * 1_000_000,
        load: (index % 128) as f64 / 128.0,
        resident: 1 << (20 + index % 8),
        task: index as u32,
        faults: (index * 31) as u32,
    }
}
