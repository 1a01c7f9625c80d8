//! A filter whose panics are errors: code of a program that fails must not take its node, and the members below, with it.
//!
//! A filter that has panicked may be in any state, so it is dropped. The next wave gets a new one, with the same parameters.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use banyan_ndr::Format;

use super::registry::Maker;
use super::{Filter, FilterError, FilterRole, Output, Part, PartRun, Recovery};
use crate::bodies::Bodies;

/// See the module.
pub(super) struct Caught {
    name: String,
    parameters: Vec<u8>,
    maker: Arc<Maker>,
    recovery: Recovery,
    /// None after a panic.
    filter: Option<Box<dyn Filter>>,
    /// A panic that nobody has been told of.
    untold: Option<FilterError>,
}

impl Caught {
    /// The filter that a program knows by this name.
    pub(super) fn new(name: &str, parameters: &[u8], maker: &Arc<Maker>) -> Result<Caught, FilterError> {
        let made = catch(|| {
            let filter = maker(parameters)?;
            Ok::<_, FilterError>((filter.recovery(), filter))
        });
        let (recovery, filter) = made.map_err(|text| panicked(name, text, Recovery::Recomputed))??;
        let (name, parameters, maker) = (name.to_owned(), parameters.to_vec(), Arc::clone(maker));
        Ok(Caught { name, parameters, maker, recovery, filter: Some(filter), untold: None })
    }

    /// Lets the filter work; a new one, if the last one has panicked.
    fn work<T>(&mut self, work: impl FnOnce(&mut dyn Filter) -> T) -> Result<T, FilterError> {
        let filter = match &mut self.filter {
            Some(filter) => filter,
            None => {
                let again = Caught::new(&self.name, &self.parameters, &self.maker)?;
                *self = again;
                return self.work(work);
            }
        };
        catch(|| work(&mut **filter)).map_err(|text| self.fail(text))
    }

    #[cold]
    fn fail(&mut self, text: String) -> FilterError {
        let broken = self.filter.take();
        // What it says when it is dropped is of no more interest.
        let _ = catch(|| drop(broken));
        panicked(&self.name, text, self.recovery)
    }
}

impl Filter for Caught {
    fn wave(&mut self, parts: &[Part<'_>], place: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        match self.untold.take() {
            Some(untold) => Err(untold),
            None => self.work(|filter| filter.wave(parts, place, out))?,
        }
    }

    fn waves(&mut self, parts: &[PartRun<'_>], place: FilterRole) -> Option<(Format, Bodies)> {
        self.work(|filter| filter.waves(parts, place)).unwrap_or_else(|error| {
            self.untold = Some(error);
            None
        })
    }

    fn verify(&mut self, part: &Part<'_>) -> Result<(), FilterError> {
        self.work(|filter| filter.verify(part)).unwrap_or_else(|error| {
            // That is not the member's fault.
            self.untold = Some(error);
            Ok(())
        })
    }

    fn lacks(&self, format: &Format, is_partial: bool) -> Vec<String> {
        // A panic here harms nothing that the filter knows, and nobody needs the answer.
        let lacks = self.filter.as_ref().map(|filter| catch(|| filter.lacks(format, is_partial)));
        lacks.and_then(Result::ok).unwrap_or_default()
    }

    fn recovery(&self) -> Recovery {
        self.recovery
    }
}

/// What code of a program returns, or the text that it panicked with.
fn catch<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    // Whatever the code has changed is dropped by whoever hears of the panic.
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| text(&*panic))
}

#[cold]
fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a text").to_owned()
}

#[cold]
fn panicked(name: &str, text: String, recovery: Recovery) -> FilterError {
    FilterError::Panicked { name: name.to_owned(), text, is_state_lost: recovery == Recovery::Lost }
}
