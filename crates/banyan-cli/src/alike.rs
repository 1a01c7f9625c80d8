//! Problems of several hosts with one cause, told once.

use banyan_boot::{HostSet, Problem};

/// Problems for people: those of several hosts with one cause together, in the words of the first. The numbers in a cause
/// and the name of the host make no difference.
pub(crate) fn folded(problems: &[Problem]) -> Vec<String> {
    let mut alike: Vec<(String, &Problem, Vec<&str>)> = Vec::new();
    for problem in problems {
        let cause = without_digits(&problem.cause.replace(&problem.host, "{host}"));
        match alike.iter_mut().find(|(other, first, _)| *other == cause && first.kind == problem.kind) {
            Some((.., hosts)) => hosts.push(&problem.host),
            None => alike.push((cause, problem, vec![&problem.host])),
        }
    }
    let text = |(_, first, hosts): &(String, &Problem, Vec<&str>)| {
        let set = HostSet::from_names(hosts).ok().filter(|set| set.len() > 1);
        // Whose members these are is told by the hosts.
        let any = Problem::new(&first.host, first.kind, &first.cause, &first.remedy);
        set.map_or_else(|| first.to_string(), |set| format!("{} hosts ({set}), such as {any}", set.len()))
    };
    alike.iter().map(text).collect()
}

fn without_digits(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use banyan_boot::ProblemKind;

    use super::*;

    #[test]
    fn problems_with_one_cause_are_told_once_for_all_hosts() {
        let problem =
            |host: &str, cause: &str| Problem::new(host, ProblemKind::NoSpace, cause, format!("look at {host}"));
        let full = |host: &str, free: u32| problem(host, &format!("/scratch/{host}: {free} bytes free"));
        let told = folded(&[full("n1", 5), problem("n2", "it is odd"), full("n3", 70)]);
        let first = "2 hosts (n[1,3]), such as host n1: /scratch/n1: 5 bytes free; look at n1";
        assert_eq!(told, [first, "host n2: it is odd; look at n2"]);
    }
}
