//! Predictions of many sizes and fan-outs as tables and plots.

use super::model::{Costs, Prediction};
use crate::plot::{Axes, Series, svg};

/// The most children of a node, in the predicted trees.
pub const FAN_OUTS: [u32; 4] = [8, 16, 32, 64];

/// Sixteen members to a million, each size four times the one before.
fn sizes() -> impl Iterator<Item = u32> {
    (2..=10).map(|power| 4_u32.pow(power))
}

/// A figure of a prediction, and how it is shown.
struct PredictedFigure {
    file: &'static str,
    title: &'static str,
    unit: &'static str,
    value: fn(&Prediction) -> f64,
}

const FIGURES: [PredictedFigure; 2] = [
    PredictedFigure {
        file: "sim-round-trip.svg",
        title: "Predicted: an integer to all members and the sum of their answers",
        unit: "µs",
        value: |prediction| prediction.round_trip_us,
    },
    PredictedFigure {
        file: "sim-waves.svg",
        title: "Predicted: pipelined waves of one integer",
        unit: "waves/s",
        value: |prediction| prediction.waves_per_second,
    },
];

/// All fan-outs with all sizes.
pub fn predictions(costs: &Costs) -> Vec<Prediction> {
    FAN_OUTS.iter().flat_map(|fan_out| sizes().map(|members| costs.predict(*fan_out, members))).collect()
}

/// Columns of the number of members, and of each fan-out.
const MEMBERS: usize = 10;
const CELL: usize = 14;

/// A table for each figure: a line for each size, a column for each fan-out.
pub fn figures_table(predictions: &[Prediction]) -> String {
    let mut out = String::new();
    for figure in FIGURES {
        out += &format!("{} ({})\n{:>MEMBERS$}", figure.title, figure.unit, "members");
        FAN_OUTS.iter().for_each(|fan_out| out += &format!("{:>CELL$}", format!("fan-out {fan_out}")));
        out += "\n";
        for members in sizes() {
            out += &format!("{members:>MEMBERS$}");
            for prediction in predictions.iter().filter(|prediction| prediction.members == members) {
                out += &format!("{:>CELL$.0}", (figure.value)(prediction));
            }
            out += "\n";
        }
        out += "\n";
    }
    out
}

/// A plot for each figure, with a name for its file.
pub fn figures_plots(predictions: &[Prediction]) -> Vec<(String, String)> {
    let line = |fan_out: u32, value: fn(&Prediction) -> f64| {
        let own = predictions.iter().filter(|prediction| prediction.fan_out == fan_out);
        let points = own.map(|prediction| (f64::from(prediction.members), value(prediction))).collect();
        Series { name: format!("fan-out {fan_out}"), points }
    };
    let plot = |figure: &PredictedFigure| {
        let series: Vec<Series> = FAN_OUTS.iter().map(|fan_out| line(*fan_out, figure.value)).collect();
        let axes = Axes { title: figure.title, x: "members", y: figure.unit };
        (figure.file.to_owned(), svg(axes, &series))
    };
    FIGURES.iter().map(plot).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_reach_from_sixteen_members_to_a_million() {
        let costs = Costs { hop_us: 20.0, send_us: 2.0, receive_us: 1.0, wave_us: 0.01 };
        let predictions = predictions(&costs);
        assert_eq!(predictions.len(), 36);
        let table = figures_table(&predictions);
        assert!(table.lines().any(|line| line.trim_start().starts_with("1048576 ")), "{table}");
        assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
        assert!(figures_plots(&predictions).iter().all(|(_, drawn)| drawn.contains("fan-out 64")));
    }
}
