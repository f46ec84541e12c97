//! Plans that somebody edited, or that came from others.

use super::*;

fn refused(change: impl Fn(&mut Plan)) -> String {
    let root = tempfile::tempdir().unwrap();
    let mut plan = plan();
    change(&mut plan);
    let folder = StudyFolder::create_for(root.path(), &plan.id, &plan).unwrap();
    plan_of(&folder).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_plan_with_more_runs_than_anybody_waits_for_is_refused_before_they_are_counted_out() {
    for repeats in [0, 1, u32::MAX] {
        let told = refused(|plan| {
            plan.parts[0].factors =
                (0..8).map(|number| Factor::numeric(&format!("f{number}"), 0..100)).collect();
            plan.parts[0].repeats = repeats;
        });
        assert!(told.contains("part work has") && told.contains("100000 are the most"), "{told}");
    }
}

#[test]
fn a_name_that_leads_out_of_the_folder_is_refused() {
    for name in ["../../elsewhere", "", ".hidden", "a/b", "a\0b"] {
        assert!(
            refused(|plan| plan.parts[0].name = name.to_owned()).contains("no folder can have"),
            "{name:?}"
        );
        let told = refused(|plan| plan.parts[0].factors[1].levels[0].name = name.to_owned());
        assert!(told.contains("no folder can have"), "{name:?}");
    }
}
