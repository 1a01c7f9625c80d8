//! Where things lie in a segment and in its observers' file. `docs/segment.md` says the same for other languages.
//!
//! Everything is made of 64-bit words in the byte order of the machine. Positions within a structure count words;
//! positions within a file count bytes. A reader takes table strides and capacities from the file, not from here.

/// Bytes of a word.
pub(crate) const WORD: usize = 8;

/// The number of this layout. A reader refuses a file whose [`LEAST_READER`] is above it.
pub(crate) const LAYOUT: u64 = 1;

/// First word of a segment: these bytes, whatever the byte order.
pub(crate) const SEGMENT_MAGIC: u64 = u64::from_ne_bytes(*b"BANYANSG");

/// First word of an observers' file.
pub(crate) const OBSERVERS_MAGIC: u64 = u64::from_ne_bytes(*b"BANYANOB");

/// Second word of both files.
pub(crate) const ORDER_MARK: u64 = 0x0102_0304_0506_0708;

/// Words that both files begin with.
pub(crate) const MAGIC: usize = 0;
pub(crate) const ORDER: usize = 1;
pub(crate) const VERSION: usize = 2;
pub(crate) const LEAST_READER: usize = 3;
/// A random number that a segment and its observers' file share.
pub(crate) const TOKEN: usize = 5;

/// Words of a segment's header.
pub(crate) mod header {
    /// When the segment was made, in nanoseconds of `CLOCK_MONOTONIC`. Of several segments of one process the newest is
    /// live: the others are from before `exec`.
    pub(crate) const CREATED: usize = 4;
    pub(crate) const PID: usize = 6;
    /// Clock ticks from the boot to the start of the process, as in `/proc/PID/stat`.
    pub(crate) const START_TIME: usize = 7;
    /// 16 bytes.
    pub(crate) const BOOT_ID: usize = 8;
    /// The inode of `/proc/self/ns/pid`.
    pub(crate) const PID_NAMESPACE: usize = 10;
    pub(crate) const UID: usize = 11;
    /// `u64::MAX` where nothing says it.
    pub(crate) const RANK: usize = 12;
    /// How many ranks there are; 0 where nothing says it.
    pub(crate) const RANKS: usize = 13;
    /// Texts.
    pub(crate) const JOB: usize = 14;
    pub(crate) const EXECUTABLE: usize = 15;
    pub(crate) const HOST: usize = 16;
    /// 1: time-stamp counter; 2: nanoseconds of `CLOCK_MONOTONIC`.
    pub(crate) const CLOCK: usize = 18;
    /// One moment by three clocks, and how many nanoseconds reading them took.
    pub(crate) const BASE_STAMP: usize = 19;
    pub(crate) const BASE_MONOTONIC: usize = 20;
    pub(crate) const BASE_WALL: usize = 21;
    pub(crate) const BASE_WIDTH: usize = 22;
    /// Tables, four words each: offset in bytes, stride in bytes, capacity, entries in use.
    pub(crate) const SENSORS: usize = 24;
    pub(crate) const RINGS: usize = 28;
    pub(crate) const KNOBS: usize = 32;
    /// Bytes of header and tables.
    pub(crate) const BYTES: usize = 36;
    /// Who may steer: 0 nobody, 1 the user of the process.
    pub(crate) const STEERING: usize = 37;
    /// The step that the program has reached; `u64::MAX` until it has said one.
    pub(crate) const STEP: usize = 38;
    /// How many steering points it has come to.
    pub(crate) const POINTS: usize = 39;
    /// A table like the others, of answers to what is in the mailbox. All zeros before the first knob or action.
    pub(crate) const ANSWERS: usize = 40;
    /// How many nanoseconds the program waits at a step for a decision.
    pub(crate) const PATIENCE: usize = 44;
}

/// Words of an entry in the table of sensors.
pub(crate) mod sensor {
    /// A [`Kind`](crate::Kind), written last; 0 until then.
    pub(crate) const KIND: usize = 0;
    /// Texts.
    pub(crate) const NAME: usize = 1;
    pub(crate) const UNIT: usize = 2;
    pub(crate) const DESCRIPTION: usize = 3;
    /// The format's canonical encoding, as a text is kept; 0 for counters and gauges.
    pub(crate) const FORMAT: usize = 4;
    pub(crate) const POLICY: usize = 5;
    /// The policy's number: n, or nanoseconds.
    pub(crate) const POLICY_NUMBER: usize = 6;
    /// 1 if it is written though nobody watches.
    pub(crate) const ALWAYS: usize = 7;
    /// What a counter or gauge holds; of a gauge the bits of a double.
    pub(crate) const VALUE: usize = 8;
    /// Events for which there was no ring.
    pub(crate) const NO_ROOM: usize = 9;
    /// Offset in bytes of the cell of a sensor of which only the latest event is kept; 0 for others.
    pub(crate) const CELL: usize = 10;
    /// Bytes of that cell.
    pub(crate) const CELL_BYTES: usize = 11;
    /// Events of such a sensor that were lost because another thread, or this one beneath a signal, was writing.
    pub(crate) const CONTENDED: usize = 12;
    /// Words of an entry.
    pub(crate) const WORDS: usize = 16;
}

/// Words of an entry in the table of knobs and actions.
pub(crate) mod knob {
    /// 1: a knob; 2: an action. Written last; 0 until then.
    pub(crate) const KIND: usize = 0;
    /// Texts.
    pub(crate) const NAME: usize = 1;
    pub(crate) const UNIT: usize = 2;
    pub(crate) const DESCRIPTION: usize = 3;
    /// The format of its values, as in the table of sensors; 0 for actions.
    pub(crate) const FORMAT: usize = 4;
    /// Bits: [`READ_ONLY`], [`LOW_EXCLUDED`], [`HIGH_EXCLUDED`].
    pub(crate) const FLAGS: usize = 5;
    /// Bodies of values, kept like texts: the least and the most that it can be set to; 0 where there is no bound.
    pub(crate) const LOW: usize = 6;
    pub(crate) const HIGH: usize = 7;
    /// Offset in bytes of the cell with its value, and the cell's bytes.
    pub(crate) const CELL: usize = 8;
    pub(crate) const CELL_BYTES: usize = 9;
    /// How often an action was run.
    pub(crate) const RUNS: usize = 10;
    /// Words of an entry.
    pub(crate) const WORDS: usize = 16;

    pub(crate) const IS_KNOB: u64 = 1;
    pub(crate) const IS_ACTION: u64 = 2;

    /// Only the program sets it.
    pub(crate) const READ_ONLY: u64 = 1;
    /// The bound itself is outside.
    pub(crate) const LOW_EXCLUDED: u64 = 2;
    pub(crate) const HIGH_EXCLUDED: u64 = 4;
}

/// Words before the value in the cell of a knob: who has set it.
pub(crate) mod setting {
    /// The request by which it was set; 0: the program itself.
    pub(crate) const TICKET: usize = 0;
    pub(crate) const PID: usize = 1;
    /// The step at which it was set; `u64::MAX` if there was none.
    pub(crate) const STEP: usize = 2;
    /// The sender's words about itself.
    pub(crate) const LABEL: usize = 3;
    pub(crate) const HEAD_WORDS: usize = LABEL + super::LABEL_WORDS;
}

/// Words of the payload in the cell of an answer.
pub(crate) mod answer {
    /// Which request it answers.
    pub(crate) const TICKET: usize = 0;
    /// See `mailbox::Outcome`.
    pub(crate) const OUTCOME: usize = 1;
    /// Why it was refused.
    pub(crate) const REASON: usize = 2;
    /// The program's step then; `u64::MAX` if there was none.
    pub(crate) const STEP: usize = 3;
    /// Words before the value that the knob had before.
    pub(crate) const HEAD_WORDS: usize = 4;
}

/// Words of an entry in the table of rings.
pub(crate) mod ring {
    /// 1 when the ring is there, written last.
    pub(crate) const READY: usize = 0;
    /// Offset in bytes of its chunk of the file.
    pub(crate) const OFFSET: usize = 1;
    /// 0: what is oldest is overwritten; 1: what an observer has not read is kept.
    pub(crate) const LANE: usize = 2;
    pub(crate) const BLOCK_WORDS: usize = 3;
    pub(crate) const DATA_WORDS: usize = 4;
    /// How many rows it has; a row for each sensor.
    pub(crate) const ROWS: usize = 5;
    /// Words of an entry.
    pub(crate) const WORDS: usize = 8;
}

/// Words of a ring's chunk: control words, rows, data.
pub(crate) mod chunk {
    pub(crate) const CONTROL_WORDS: usize = 16;
    pub(crate) const ROW_WORDS: usize = 8;
    /// Bytes of a chunk.
    pub(crate) const fn bytes(rows: usize, data_words: usize) -> usize {
        (CONTROL_WORDS + rows * ROW_WORDS + data_words) * super::WORD
    }
}

/// Words of a row: what happened to the events of one sensor in one ring.
pub(crate) mod row {
    /// Events that were written.
    pub(crate) const WRITTEN: usize = 0;
    /// Events that were not, by reason.
    pub(crate) const FULL: usize = 1;
    pub(crate) const SAMPLED: usize = 2;
    pub(crate) const TIMED_OUT: usize = 3;
    pub(crate) const TOO_LARGE: usize = 4;
    pub(crate) const NESTED: usize = 5;
}

/// Words of the observers' file.
pub(crate) mod observers {
    /// Tables, four words each as in a segment: slots, watched sensors, cursors, slots of the mailbox.
    pub(crate) const SLOTS: usize = 8;
    pub(crate) const WATCHED: usize = 12;
    pub(crate) const CURSORS: usize = 16;
    pub(crate) const MAILBOX: usize = 20;
    /// Not 0 when somebody has put something into the mailbox. On a line of memory that is rarely written.
    pub(crate) const BELL: usize = 24;
    /// How many observers there can be: each has a byte in the word of a watched sensor.
    pub(crate) const CAPACITY: usize = 8;
    /// Words of the header.
    pub(crate) const HEADER_WORDS: usize = 32;
}

/// Words of an observer's slot.
pub(crate) mod slot {
    /// 0: free; otherwise a random number of the observer's own.
    pub(crate) const OWNER: usize = 0;
    pub(crate) const PID: usize = 1;
    pub(crate) const START_TIME: usize = 2;
    /// The stamp until which it counts as alive.
    pub(crate) const LEASE: usize = 3;
    /// Words of a slot.
    pub(crate) const WORDS: usize = 8;
}

/// Words of a slot of the mailbox.
pub(crate) mod letter {
    /// A number that no other request has, written last; 0: free.
    pub(crate) const TICKET: usize = 0;
    /// Who has sent it.
    pub(crate) const PID: usize = 1;
    pub(crate) const START_TIME: usize = 2;
    /// The stamp until which its sender counts as alive.
    pub(crate) const LEASE: usize = 3;
    /// 0: open; 1: it is to be done; 2: it is not.
    pub(crate) const DECISION: usize = 4;
    /// Index of the knob or action.
    pub(crate) const TARGET: usize = 5;
    /// 0: at once; 1: at the next steering point; 2: at a step.
    pub(crate) const WHEN: usize = 6;
    pub(crate) const STEP: usize = 7;
    /// Bytes of the value.
    pub(crate) const BYTES: usize = 8;
    /// The sender's words about itself: UTF-8, filled up with zeros.
    pub(crate) const LABEL: usize = 16;
    pub(crate) const VALUE: usize = LABEL + super::LABEL_WORDS;
    /// Words of a slot.
    pub(crate) const WORDS: usize = VALUE + super::VALUE_WORDS;
}

/// Words of what a sender says about itself.
pub(crate) const LABEL_WORDS: usize = 8;

/// Words of the longest value of a knob.
pub(crate) const VALUE_WORDS: usize = 128;

/// Bytes of the longest value of a knob.
pub(crate) const LONGEST_VALUE: usize = VALUE_WORDS * WORD;

/// Requests in the mailbox at the same time.
pub(crate) const MAIL_CAPACITY: usize = 16;

/// Words of the cell of an answer.
pub(crate) const ANSWER_WORDS: usize = 1 + 2 * (3 + answer::HEAD_WORDS + VALUE_WORDS);

/// Bytes of the chunk with answers and values, which comes with the first knob or action.
pub(crate) const STEERING_BYTES: usize = 128 << 10;

/// Knobs and actions of one process.
pub(crate) const KNOB_CAPACITY: usize = 128;

/// Sensors of one process.
pub(crate) const SENSOR_CAPACITY: usize = 512;

/// Rings of one process: one or two for each thread that emits at the same time.
pub(crate) const RING_CAPACITY: usize = 512;

/// Bytes for texts, formats and cells that come with header and tables. More comes in chunks of this size.
pub(crate) const TEXT_BYTES: usize = 64 << 10;

/// Bytes of a page, the unit of chunks.
pub(crate) const PAGE: usize = 4096;

/// Words of the header, a page.
pub(crate) const HEADER_WORDS: usize = PAGE / WORD;

/// Byte offset of the table of sensors.
pub(crate) const SENSORS_AT: usize = PAGE;

/// Byte offset of the table of rings.
pub(crate) const RINGS_AT: usize = SENSORS_AT + SENSOR_CAPACITY * sensor::WORDS * WORD;

/// Byte offset of the table of knobs.
pub(crate) const KNOBS_AT: usize = RINGS_AT + RING_CAPACITY * ring::WORDS * WORD;

/// Byte offset of the first texts.
pub(crate) const TEXTS_AT: usize = KNOBS_AT + KNOB_CAPACITY * knob::WORDS * WORD;

/// Bytes of header, tables and first texts.
pub(crate) const SEGMENT_BYTES: usize = TEXTS_AT + TEXT_BYTES;

/// Byte offsets in the observers' file.
pub(crate) const SLOTS_AT: usize = observers::HEADER_WORDS * WORD;
pub(crate) const WATCHED_AT: usize = PAGE;
pub(crate) const CURSORS_AT: usize = WATCHED_AT + SENSOR_CAPACITY * WORD;
pub(crate) const MAILBOX_AT: usize = CURSORS_AT + RING_CAPACITY * observers::CAPACITY * WORD;
pub(crate) const OBSERVERS_BYTES: usize = MAILBOX_AT + MAIL_CAPACITY * letter::WORDS * WORD;

/// Bits of a text's place that are its offset; the rest is its length.
const TEXT_OFFSET_BITS: u32 = 40;

/// The longest text or format.
pub(crate) const LONGEST_TEXT: usize = (1 << (64 - TEXT_OFFSET_BITS)) - 1;

/// The word that says where a text lies.
pub(crate) fn text_word(offset: u64, length: usize) -> u64 {
    (length as u64) << TEXT_OFFSET_BITS | offset
}

/// Offset and length of a text.
pub(crate) fn text_place(word: u64) -> (u64, usize) {
    (word & ((1 << TEXT_OFFSET_BITS) - 1), (word >> TEXT_OFFSET_BITS) as usize)
}
