//! What can be wrong with a sensor.

/// Why a sensor cannot be made. That nobody can watch is no error: see [`status`](crate::status).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SensorError {
    /// A name is empty or too long, or has control characters.
    #[error("{name:?} is not a name for a sensor: use 1 to 255 characters, none of which is a control character")]
    Name {
        /// The name.
        name: String,
    },
    /// A sensor of this name is there and has another kind, format or policy.
    #[error("there is a sensor {name} of another kind, format or policy; give one of the two another name")]
    Contradicts {
        /// The name.
        name: String,
    },
    /// There are too many sensors.
    #[error("no room for sensor {name}: a process can have {most}; make one sensor with a field instead of many")]
    TooMany {
        /// The name.
        name: String,
        /// How many there can be.
        most: usize,
    },
    /// A value of a knob lies outside its range.
    #[error("knob {name}: the value lies outside its range; choose another one, or widen the range")]
    OutOfRange {
        /// The knob's name.
        name: String,
    },
    /// A value of a knob is too long.
    #[error("knob {name}: a value can have 1,024 bytes as a record; make several knobs of its parts")]
    TooLong {
        /// The knob's name.
        name: String,
    },
    /// There are too many knobs and actions, or their values take too much room.
    #[error(
        "no room for {name}: a process can have {most} knobs and actions, and fewer if many have texts or lists; make one of a record instead of many"
    )]
    TooManyKnobs {
        /// The name.
        name: String,
        /// How many there can be.
        most: usize,
    },
    /// Records with texts or lists have no fixed length, which `Policy::LatestOnly` needs.
    #[error("sensor {name}: the latest event alone can be kept only of records without texts and lists, up to 32 KiB")]
    NotFixed {
        /// The name.
        name: String,
    },
}
