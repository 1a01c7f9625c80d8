//! Open MPI's pack and unpack: a small C program, compiled when `mpicc` is there.

use std::process::Command;

use banyan_bench::Row;

const PROGRAM: &str = include_str!("mpi.c");

/// The figures of Open MPI, or why there are none.
pub fn rows(batches: usize) -> Result<Vec<Row>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (source, program) = (folder.path().join("mpi.c"), folder.path().join("mpi"));
    std::fs::write(&source, PROGRAM).map_err(|error| error.to_string())?;
    let compiled = Command::new("mpicc").arg("-O2").arg("-o").arg(&program).arg(&source).output();
    let compiled = compiled.map_err(|_| "mpicc is not installed (package libopenmpi-dev)".to_owned())?;
    if !compiled.status.success() {
        return Err(String::from_utf8_lossy(&compiled.stderr).into_owned());
    }
    let run = Command::new(&program).arg(batches.to_string()).output().map_err(|error| error.to_string())?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into_owned());
    }
    String::from_utf8_lossy(&run.stdout).lines().map(row).collect()
}

fn row(line: &str) -> Result<Row, String> {
    let parsed = || -> Option<Row> {
        let mut words = line.split(' ');
        let op = match words.next()? {
            "encode" => "encode",
            "decode_same" => "decode_same",
            "encode_external32" => "encode_external32",
            "decode_external32" => "decode_external32",
            _ => return None,
        };
        let bytes = words.next()?.parse().ok()?;
        let (ns, ns_median) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Row { system: "open-mpi".into(), op, record: "plain", bytes, ns, ns_median })
    };
    parsed().ok_or_else(|| format!("unexpected output of the MPI program: {line}"))
}
