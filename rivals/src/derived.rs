//! Rivals whose code is derived from the Rust types: rkyv, bincode, postcard, serde_json, quick-xml.
//!
//! Each encodes into a buffer that is reused and decodes to the struct (what a program can use without the rival's
//! own accessors); rkyv also shows its checked access.

use rkyv::rancor;

use crate::records::{Elem, Mesh, Report, XmlReport};
use crate::rival::Rival;

/// Room for the longest text that a rival makes of a record.
const ROOM: usize = 4 << 20;

fn fixed() -> impl bincode::config::Config {
    bincode::config::standard().with_fixed_int_encoding()
}

macro_rules! derived {
    ($name:ident, $system:literal, $report:ty, $encode:expr, $decode:expr) => {
        /// This rival.
        pub struct $name<T> {
            record: T,
            buffer: Vec<u8>,
            len: usize,
        }

        impl<T: Clone> $name<T> {
            /// Ready to measure.
            pub fn new(record: &T) -> Self
            where
                Self: Rival,
            {
                let mut rival = $name { record: record.clone(), buffer: vec![0; ROOM], len: 0 };
                rival.encode();
                rival
            }
        }

        derived!(@for $name, $system, Elem, $encode, $decode);
        derived!(@for $name, $system, Mesh, $encode, $decode);
        derived!(@for $name, $system, $report, $encode, $decode);
    };
    (@for $name:ident, $system:literal, $record:ty, $encode:expr, $decode:expr) => {
        impl Rival for $name<$record> {
            fn system(&self) -> &'static str {
                $system
            }

            fn encode(&mut self) -> usize {
                let encode: fn(&$record, &mut [u8]) -> usize = $encode;
                self.len = encode(&self.record, &mut self.buffer);
                self.len
            }

            fn decode(&mut self) {
                let decode: fn(&[u8]) -> $record = $decode;
                let record = decode(&self.buffer[..self.len]);
                std::hint::black_box(&record);
            }

            fn is_right(&mut self) -> bool {
                let decode: fn(&[u8]) -> $record = $decode;
                decode(&self.buffer[..self.len]) == self.record
            }
        }
    };
}

derived!(
    Bincode,
    "bincode",
    Report,
    |record, out| bincode::encode_into_slice(record, out, fixed()).expect("encodes"),
    |bytes| bincode::decode_from_slice(bytes, fixed()).expect("decodes").0
);

derived!(
    Postcard,
    "postcard",
    Report,
    |record, out| postcard::to_slice(record, out).expect("encodes").len(),
    |bytes| postcard::from_bytes(bytes).expect("decodes")
);

derived!(
    SerdeJson,
    "serde_json",
    Report,
    |record, out| {
        let mut out = std::io::Cursor::new(out);
        serde_json::to_writer(&mut out, record).expect("encodes");
        out.position() as usize
    },
    |bytes| serde_json::from_slice(bytes).expect("decodes")
);

derived!(
    QuickXml,
    "quick-xml",
    XmlReport,
    |record, out| {
        let text = quick_xml::se::to_string(record).expect("encodes");
        out[..text.len()].copy_from_slice(text.as_bytes());
        text.len()
    },
    |bytes| quick_xml::de::from_reader(bytes).expect("decodes")
);

/// rkyv: encode, checked access, and deserialisation to the struct.
pub struct Rkyv<T> {
    record: T,
    encoded: rkyv::util::AlignedVec,
}

macro_rules! rkyv_rival {
    ($record:ident, $archived:ty) => {
        impl Rkyv<$record> {
            /// Ready to measure.
            pub fn new(record: &$record) -> Self {
                let mut rival = Rkyv { record: record.clone(), encoded: rkyv::util::AlignedVec::new() };
                rival.encode();
                rival
            }

            /// Checked access without conversion to the struct.
            pub fn access(&self) -> &$archived {
                rkyv::access::<$archived, rancor::Error>(&self.encoded).expect("valid")
            }
        }

        impl Rival for Rkyv<$record> {
            fn system(&self) -> &'static str {
                "rkyv"
            }

            fn encode(&mut self) -> usize {
                let mut buffer = std::mem::take(&mut self.encoded);
                buffer.clear();
                self.encoded = rkyv::api::high::to_bytes_in::<_, rancor::Error>(&self.record, buffer).expect("encodes");
                self.encoded.len()
            }

            fn decode(&mut self) {
                let record = rkyv::deserialize::<$record, rancor::Error>(self.access()).expect("decodes");
                std::hint::black_box(&record);
            }

            fn is_right(&mut self) -> bool {
                rkyv::deserialize::<$record, rancor::Error>(self.access()).expect("decodes") == self.record
            }
        }
    };
}

rkyv_rival!(Elem, crate::records::ArchivedElem);
rkyv_rival!(Mesh, crate::records::ArchivedMesh);
rkyv_rival!(Report, crate::records::ArchivedReport);
