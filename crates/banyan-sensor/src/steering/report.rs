//! Changes as events of the stream: the sensor `banyan.steering`.

use std::sync::OnceLock;

use banyan_ndr::{Buffer, Format, Record, RecordView, Value};

use super::answer::Outcome;
use crate::sensor::Sensor;

/// What has changed in a program, and who wanted that: an event of its sensor `banyan.steering`. A process has this sensor as
/// soon as it has a knob or an action.
#[derive(Record, Debug, Clone, PartialEq)]
pub struct SteeringEvent {
    /// The knob or action.
    pub name: String,
    /// `set`, `run`, `cancelled`, or `missed`: the step came before a decision, and the program went on without the change.
    pub what: String,
    /// The value before, as text.
    pub old: String,
    /// The value that was asked for, as text.
    pub new: String,
    /// The value before, if it is a number; otherwise NaN.
    pub old_number: f64,
    /// The value that was asked for, if it is a number; otherwise NaN.
    pub new_number: f64,
    /// The step of the program, or -1.
    pub step: i64,
    /// What the sender of the request says about itself; `program` if the program did it.
    pub who: String,
    /// The process id of the sender, as it says.
    pub pid: u64,
    /// The request; 0 if the program did it.
    pub ticket: u64,
}

/// Something to report, once the lock on the process is released.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    pub(crate) format: Option<&'static Format>,
    pub(crate) old: Vec<u8>,
    pub(crate) new: Vec<u8>,
    pub(crate) step: Option<u64>,
    pub(crate) who: String,
    pub(crate) pid: u64,
    pub(crate) ticket: u64,
}

static SENSOR: OnceLock<Option<Sensor<SteeringEvent>>> = OnceLock::new();

/// Makes the sensor.
pub(crate) fn prepare() -> Option<Sensor<SteeringEvent>> {
    let description = "changes of knobs and runs of actions";
    *SENSOR.get_or_init(|| Sensor::options("banyan.steering").description(description).build().ok())
}

/// Emits what there is to report. The caller does not have the lock on the process.
pub(crate) fn emit(reports: &[Report]) {
    let Some(sensor) = SENSOR.get().copied().flatten().filter(Sensor::is_watched) else { return };
    reports.iter().for_each(|report| sensor.emit(&report.event()));
}

impl Report {
    fn event(&self) -> SteeringEvent {
        let what = match (self.outcome, self.format) {
            (Outcome::Done, Some(_)) => "set",
            (Outcome::Done, None) => "run",
            (Outcome::Missed, _) => "missed",
            _ => "cancelled",
        };
        let ((old, old_number), (new, new_number)) = (self.shown(&self.old), self.shown(&self.new));
        let step = self.step.map_or(-1, |step| i64::try_from(step).unwrap_or(i64::MAX));
        let (pid, ticket, who) = (self.pid, self.ticket, self.who.clone());
        SteeringEvent {
            name: self.name.clone(),
            what: what.into(),
            old,
            new,
            old_number,
            new_number,
            step,
            who,
            pid,
            ticket,
        }
    }

    /// A value as text and as number.
    fn shown(&self, body: &[u8]) -> (String, f64) {
        let body = Buffer::from_slice(body);
        let view = self.format.and_then(|format| RecordView::new(format, &body).ok());
        view.map_or_else(|| (String::new(), f64::NAN), |view| (text(&view), number(&view)))
    }
}

/// The value of a knob as text, without the record around it.
pub(crate) fn text(view: &RecordView<'_>) -> String {
    let text = view.to_string();
    let inner = text.split_once("{value: ").and_then(|(_, rest)| rest.strip_suffix('}'));
    inner.unwrap_or(&text).to_owned()
}

/// The value of a knob, if it is a number.
pub(crate) fn number(view: &RecordView<'_>) -> f64 {
    match view.get("value").and_then(|item| item.to_value()) {
        Ok(Value::Int(number)) => number as f64,
        Ok(Value::UInt(number)) => number as f64,
        Ok(Value::F32(number)) => number.into(),
        Ok(Value::F64(number)) => number,
        Ok(Value::Bool(is)) => f64::from(u8::from(is)),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KnobValue;

    fn shown<T: crate::Setting>(value: T) -> (String, f64) {
        let mut body = Vec::new();
        banyan_ndr::typed::encode_body_into(&KnobValue { value }, &mut body).unwrap();
        let body = Buffer::from_slice(&body);
        let view = RecordView::new(KnobValue::<T>::format(), &body).unwrap();
        (text(&view), number(&view))
    }

    #[test]
    fn values_are_shown_without_the_record_around_them() {
        assert_eq!(shown(0.5), ("0.5".into(), 0.5));
        assert_eq!(shown(7u32), ("7".into(), 7.0));
        let (text, number) = shown(String::from("a} {value: b"));
        assert_eq!(text, "\"a} {value: b\"");
        assert!(number.is_nan());
    }
}
