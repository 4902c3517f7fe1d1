use super::*;

/// Value, pods, nodes, whether it counts, skew and whether it is tainted, by value.
type Row = (String, i64, usize, bool, i64, bool);

fn rows(world: &World, account: &Account) -> Vec<Row> {
    let mut rows: Vec<Row> = account
        .domains
        .iter()
        .map(|d| {
            let value = world.snapshot.names.text(d.value).to_owned();
            let tainted = d.taint.is_some();
            (value, d.pods, d.nodes, d.is_counted, d.skew, tainted)
        })
        .collect();
    rows.sort();
    rows
}

/// Zones a and b as before; b's node is lost, and a has two pods.
fn b_is_lost() -> World {
    let mut world = two_zones();
    let labels = [("kubernetes.io/hostname", "b1"), ("zone", "b")];
    let mut node = world.node("b1", &labels);
    node.taints = [Taint {
        key: world.sym("node.kubernetes.io/unreachable"),
        value: Sym::EMPTY,
        effect: Effect::NoSchedule,
    }]
    .into();
    world.add_node(node);
    occupy(&mut world, &["a1", "a2"]);
    world
}

#[test]
fn a_tainted_domain_counts_unless_taints_are_honoured() {
    let mut world = b_is_lost();
    let ignoring = constraint(&mut world, "zone", HARD);
    let honouring = SpreadConstraint {
        honor_node_taints: true,
        ..ignoring.clone()
    };
    let pod = web(&mut world, vec![ignoring, honouring]);
    let told = accounts(&world.snapshot, &pod);
    let [ignoring, honouring] = told.as_slice() else {
        panic!("{told:?}")
    };
    let (a, b) = ("a".to_owned(), "b".to_owned());
    assert_eq!((ignoring.minimum, ignoring.counted), (0, 2));
    assert_eq!(
        rows(&world, ignoring),
        [
            (a.clone(), 2, 2, true, 3, false),
            (b.clone(), 0, 1, true, 1, true)
        ]
    );
    assert_eq!((honouring.minimum, honouring.counted), (2, 1));
    assert_eq!(
        rows(&world, honouring),
        [(a, 2, 2, true, 1, false), (b, 0, 1, false, -1, true)]
    );
}

#[test]
fn too_few_domains_keep_the_minimum_at_zero() {
    let mut world = b_is_lost();
    let mut few = constraint(&mut world, "zone", HARD);
    few.honor_node_taints = true;
    few.min_domains = 2;
    let pod = web(&mut world, vec![few]);
    let told = accounts(&world.snapshot, &pod);
    assert_eq!((told[0].minimum, told[0].counted), (0, 1));
}

#[test]
fn soft_constraints_are_told_behind_hard_ones() {
    let mut world = two_zones();
    let soft = constraint(&mut world, "zone", SOFT);
    let hard = constraint(&mut world, "kubernetes.io/hostname", HARD);
    let pod = web(&mut world, vec![soft, hard]);
    let told = accounts(&world.snapshot, &pod);
    let actions = told
        .iter()
        .map(|account| account.constraint.when_unsatisfiable);
    assert_eq!(actions.collect::<Vec<_>>(), [HARD, SOFT]);
    assert!(told[0].self_match);
}
