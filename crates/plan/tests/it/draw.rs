//! Tests drawings of plans.

use insta::assert_snapshot;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use windlass_plan::WaitKind;
use windlass_plan::draw::layout::{Place, layout};
use windlass_plan::draw::{Drawing, Edge, Format, Group, Line, Node, Shape, Sign, Tone};

use crate::{add, builder};

fn node(label: &str, group: Option<usize>) -> Node {
    let details = vec![("says".to_owned(), label.to_owned())];
    Node { id: label.to_owned(), label: label.to_owned(), shape: Shape::Box, tone: None, group, details }
}

fn edge(from: usize, to: usize) -> Edge {
    Edge { from, to, name: String::new(), label: String::new(), line: Line::Solid }
}

fn plan() -> Drawing {
    let mut builder = builder();
    let [a, b] = add(&mut builder, ["a Start", "b Start"]);
    let all = builder.barrier("all parts are Active");
    builder.wait(b, a, WaitKind::Needs, "b reads `peer` from a".into());
    builder.wait(all, b, WaitKind::After, "Active".into());
    Drawing::of_plan("a plan", &builder.build().expect("it has an order"))
}

#[test]
fn a_plan_is_drawn_as_text() {
    assert_snapshot!(plan().render(Format::Dot), @r#"
    digraph "a plan" {
      rankdir=LR;
      node [shape=box, fontname="sans-serif"];
      n0 [label="s1 a Start", style=bold, penwidth=2];
      n1 [label="s2 b Start", style=bold, penwidth=2];
      n2 [label="all parts are Active", shape=plaintext, fontcolor=gray40];
      n0 -> n1 [tooltip="b reads `peer` from a"];
      n1 -> n2 [tooltip="Active", style=dashed];
    }
    "#);
    assert_snapshot!(plan().render(Format::Mermaid), @r#"
    flowchart LR
      n0["s1 a Start"]
      n1["s2 b Start"]
      n2{{"all parts are Active"}}
      n0 --> n1
      n1 -.-> n2
      classDef bold stroke-width:3px
      class n0,n1 bold
    "#);
    assert_snapshot!(plan().render(Format::Json), @r#"
    {
      "version": 1,
      "title": "a plan",
      "nodes": [
        {
          "id": "s1",
          "label": "s1 a Start",
          "shape": "bold",
          "group": null,
          "details": []
        },
        {
          "id": "s2",
          "label": "s2 b Start",
          "shape": "bold",
          "group": null,
          "details": [
            [
              "needs s1",
              "b reads `peer` from a"
            ]
          ]
        },
        {
          "id": "s3",
          "label": "all parts are Active",
          "shape": "quiet",
          "group": null,
          "details": [
            [
              "after s2",
              "Active"
            ]
          ]
        }
      ],
      "edges": [
        {
          "from": 0,
          "to": 1,
          "label": "b reads `peer` from a",
          "line": "solid"
        },
        {
          "from": 1,
          "to": 2,
          "label": "Active",
          "line": "dashed"
        }
      ],
      "groups": []
    }
    "#);
}

#[test]
fn a_plan_is_drawn_as_a_picture() {
    let svg = plan().render(Format::Svg);
    let lines: Vec<&str> = svg.lines().filter(|line| !line.starts_with("<style>")).collect();
    assert_snapshot!(lines.join("\n"), @r##"
    <svg xmlns="http://www.w3.org/2000/svg" width="500" height="145" viewBox="0 0 500 145" role="img">
    <title>a plan</title>
    <defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>
    <rect class="bg" width="500" height="145"/>
    <g id="all">
    <path class="e" data-from="0" data-to="1" d="M100 23L170 23" marker-end="url(#arrow)"><title>b reads `peer` from a</title></path>
    <path class="e dashed" data-from="1" data-to="2" d="M260 23L330 23" marker-end="url(#arrow)"><title>Active</title></path>
    <g class="n bold" data-node="0"><rect x="10" y="10" width="90" height="27"/><text x="20" y="28">s1 a Start</text></g>
    <g class="n bold" data-node="1"><rect x="170" y="10" width="90" height="27"/><text x="180" y="28">s2 b Start</text></g>
    <g class="n quiet" data-node="2"><rect x="330" y="10" width="160" height="27"/><text x="340" y="28">all parts are Active</text></g>
    <g class="k"><g class="n bold"><rect x="10" y="51" width="34" height="14"/></g><text x="54" y="62">step of the longest chain</text></g>
    <g class="k"><g class="n quiet"><rect x="10" y="73" width="34" height="14"/></g><text x="54" y="84">all steps before it have ended</text></g>
    <g class="k"><path class="e" d="M10 102h34" marker-end="url(#arrow)"/><text x="54" y="106">needs the success of the step before</text></g>
    <g class="k"><path class="e dashed" d="M10 124h34" marker-end="url(#arrow)"/><text x="54" y="128">comes after the step before</text></g>
    </g>
    </svg>
    "##);
}

#[test]
fn nested_assemblies_are_framed() {
    let mut drawing = Drawing::new("nested");
    drawing.groups.push(Group { label: "outer".into(), parent: None });
    drawing.groups.push(Group { label: "inner".into(), parent: Some(0) });
    drawing.nodes = vec![node("a", None), node("b", Some(0)), node("c", Some(1))];
    drawing.edges = vec![edge(0, 1), edge(1, 2)];
    assert_snapshot!(drawing.render(Format::Dot), @r#"
    digraph "nested" {
      rankdir=LR;
      node [shape=box, fontname="sans-serif"];
      n0 [label="a"];
      subgraph cluster_0 {
        label="outer";
        n1 [label="b"];
        subgraph cluster_1 {
          label="inner";
          n2 [label="c"];
        }
      }
      n0 -> n1 [tooltip=""];
      n1 -> n2 [tooltip=""];
    }
    "#);
    assert_snapshot!(drawing.render(Format::Mermaid), @r#"
    flowchart LR
      n0["a"]
      subgraph g0["outer"]
        n1["b"]
        subgraph g1["inner"]
          n2["c"]
        end
      end
      n0 --> n1
      n1 --> n2
    "#);
}

#[test]
fn no_text_becomes_markup_or_script() {
    let evil = "</script><script>alert(1)</script> \"'&`#\n<img src=x onerror=alert(2)>\u{1}";
    let mut drawing = Drawing::new(evil);
    drawing.nodes = vec![node(evil, None), node("b", None)];
    drawing.edges = vec![Edge { label: evil.to_owned(), ..edge(0, 1) }];
    for format in [Format::Svg, Format::Html] {
        let text = drawing.render(format);
        assert!(!text.contains("alert(1)</script>") && !text.contains("<img"), "{text}");
        assert!(!text.contains('\u{1}'), "{text}");
    }
    let html = drawing.render(Format::Html);
    assert_eq!(html.matches("<script").count(), 2, "the data and the page's own");
    assert_eq!(html.matches("</script").count(), 2);
    assert!(
        !html.contains("http://") || html.matches("http://").count() == 1,
        "only the name of SVG's namespace"
    );
    let mermaid = drawing.render(Format::Mermaid);
    assert!(!mermaid.contains("<script") && !mermaid.contains("<img"), "{mermaid}");
    let dot = drawing.render(Format::Dot);
    let inside: String = dot.replace("\\\\", "").replace("\\\"", "");
    assert_eq!(inside.matches('"').count() % 2, 0, "every text is closed: {dot}");
    assert_eq!(dot.lines().count(), 7, "no text breaks a line: {dot}");
}

#[test]
fn boxes_of_a_column_do_not_overlap_and_edges_go_to_the_right() {
    // A grid of 300 nodes. Edges lead to the next column, and some skip several columns.
    let mut drawing = Drawing::new("grid");
    for at in 0..300 {
        drawing.nodes.push(node(&format!("node {at}"), None));
        for from in [at - 10, at - 9, at - 53] {
            if let Ok(from) = usize::try_from(from) {
                drawing.edges.push(edge(from, usize::try_from(at).unwrap()));
            }
        }
    }
    let placed = layout(&drawing);
    for (at, a) in placed.nodes.iter().enumerate() {
        for b in &placed.nodes[at + 1..] {
            assert!(!overlap(a, b), "{a:?} {b:?}");
        }
        assert!(a.x + a.width <= placed.width && a.y + a.height <= placed.height, "{a:?}");
    }
    // The picture begins at the upper edge, and is not much higher than its highest column.
    let bends = placed.edges.iter().flatten().map(|(_, y)| *y);
    let top = placed.nodes.iter().map(|place| place.y).chain(bends).min();
    assert!(top >= Some(10) && top <= Some(12), "{top:?}");
    assert!(placed.height < 300 * 39 / 2, "{}", placed.height);
    for (edge, points) in drawing.edges.iter().zip(&placed.edges) {
        assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{edge:?} {points:?}");
    }
    assert_eq!(placed, layout(&drawing), "the same graph, the same picture");
}

/// In drawings of random nested groups, each frame contains its members and nothing else.
#[test]
fn frames_have_in_them_what_belongs_there() {
    proptest!(|(
        parents in vec(any::<Option<Index>>(), 0..12),
        homes in vec(any::<Option<Index>>(), 1..60),
        ends in vec((any::<Index>(), any::<Index>()), 0..90),
    )| {
        let mut drawing = Drawing::new("random");
        for (at, parent) in parents.iter().enumerate() {
            let parent = parent.filter(|_| at > 0).map(|parent| parent.index(at));
            drawing.groups.push(Group { label: format!("group {at}, which has a long name"), parent });
        }
        for (at, home) in homes.iter().enumerate() {
            let group = home.filter(|_| !parents.is_empty()).map(|home| home.index(parents.len()));
            drawing.nodes.push(node(&format!("node {at}"), group));
        }
        for (from, to) in ends {
            drawing.edges.push(edge(from.index(homes.len()), to.index(homes.len())));
        }
        let placed = layout(&drawing);
        // Returns a group and the groups around it.
        let around = |group: Option<usize>| -> Vec<usize> {
            std::iter::successors(group, |group| drawing.groups[*group].parent).collect()
        };
        for (group, frame) in placed.frames.iter().enumerate() {
            let is_filled = drawing.nodes.iter().any(|node| around(node.group).contains(&group));
            prop_assert_eq!(frame.is_some(), is_filled);
            let Some(frame) = frame else { continue };
            prop_assert!(frame.x + frame.width <= placed.width && frame.y + frame.height <= placed.height);
            for (node, place) in drawing.nodes.iter().zip(&placed.nodes) {
                let is_in = around(node.group).contains(&group);
                prop_assert!(if is_in { within(place, frame) } else { !overlap(place, frame) }, "{node:?}");
            }
            for (other, second) in placed.frames.iter().enumerate().filter(|(other, _)| *other != group) {
                let Some(second) = second else { continue };
                if around(Some(other)).contains(&group) {
                    prop_assert!(within(second, frame), "{other} in {group}");
                } else if !around(Some(group)).contains(&other) {
                    prop_assert!(!overlap(second, frame), "{other} beside {group}");
                }
            }
        }
        for (at, a) in placed.nodes.iter().enumerate() {
            prop_assert!(placed.nodes[at + 1..].iter().all(|b| !overlap(a, b)));
        }
    });
}

fn within(inner: &Place, outer: &Place) -> bool {
    inner.x > outer.x
        && inner.y > outer.y
        && inner.x + inner.width < outer.x + outer.width
        && inner.y + inner.height < outer.y + outer.height
}

fn overlap(a: &Place, b: &Place) -> bool {
    let apart = |a: u32, wa: u32, b: u32, wb: u32| a + wa <= b || b + wb <= a;
    !apart(a.x, a.width, b.x, b.width) && !apart(a.y, a.height, b.y, b.height)
}

/// Short columns are centred beside long ones, and the longest one fills the picture.
#[test]
fn a_picture_fills_its_frame() {
    let mut drawing = Drawing::new("fan");
    drawing.nodes = (0..9).map(|at| node(&format!("node {at}"), None)).collect();
    drawing.edges = (1..8).flat_map(|at| [edge(0, at), edge(at, 8)]).collect();
    let placed = layout(&drawing);
    let middle = |at: usize| placed.nodes[at].y + placed.nodes[at].height / 2;
    assert_eq!((placed.nodes[1].y, placed.nodes[7].y + placed.nodes[7].height), (10, placed.height - 10));
    assert_eq!((middle(0), middle(8)), (middle(4), middle(4)));
}

#[test]
fn circles_can_be_drawn() {
    let mut drawing = Drawing::new("circle");
    drawing.nodes = vec![node("a", None), node("b", None), node("c", None)];
    drawing.edges = vec![edge(0, 1), edge(1, 2), edge(2, 0), edge(1, 1)];
    let placed = layout(&drawing);
    assert_eq!(placed.nodes.iter().map(|place| place.x).collect::<std::collections::BTreeSet<_>>().len(), 3);
    assert!(placed.edges.iter().all(|points| points.len() >= 2));
}

#[test]
fn formats_are_words() {
    for format in Format::ALL {
        assert_eq!(format.as_str().parse(), Ok(format));
    }
    assert_snapshot!("pdf".parse::<Format>().unwrap_err(), @"`pdf` is no format of pictures: one of dot, mermaid, json, svg, html");
}

/// Unconnected nodes form a block that is about as wide as high.
#[test]
fn many_nodes_without_edges_are_a_block() {
    let mut drawing = Drawing::new("lots");
    drawing.nodes = (0..300).map(|at| node(&format!("component {at}"), None)).collect();
    let placed = layout(&drawing);
    assert!(placed.height < 2 * placed.width && placed.width < 2 * placed.height, "{placed:?}");
    let corners: std::collections::BTreeSet<_> =
        placed.nodes.iter().map(|place| (place.x, place.y)).collect();
    assert_eq!(corners.len(), 300);
}

/// A name is beside its edge, a tone colours its node, and the legend is below the picture.
#[test]
fn names_tones_and_a_legend_are_drawn() {
    let mut drawing = Drawing::new("named");
    drawing.nodes = vec![node("a", None), node("b", None)];
    drawing.nodes[0].tone = Some(Tone::Bad);
    drawing.edges = vec![Edge { name: "peer <ring>".to_owned(), ..edge(0, 1) }];
    drawing.legend = vec![
        (Sign::Tone(Tone::Bad), "failed".to_owned()),
        (Sign::Tone(Tone::Good), "well".to_owned()),
        (Sign::Edge(Line::Solid), "needs".to_owned()),
    ];
    drawing.trim_legend();
    let svg = drawing.render(Format::Svg);
    let text = svg.lines().find(|line| line.starts_with("<text class=\"l\"")).unwrap();
    assert!(text.ends_with(">peer &lt;ring&gt;</text>"), "{text}");
    assert!(svg.contains("<g class=\"n bad\" data-node=\"0\">"), "{svg}");
    assert!(
        svg.contains(">failed</text>") && svg.contains(">needs</text>") && !svg.contains(">well<"),
        "{svg}"
    );
    let [a, b] = layout(&drawing).nodes[..] else { panic!("there are two nodes") };
    assert!(b.x - (a.x + a.width) > 11 * 6, "there is room for the name");
    assert!(drawing.render(Format::Dot).contains("n0 -> n1 [label=\"peer <ring>\", "));
    assert!(drawing.render(Format::Mermaid).contains("n0 -->|\"peer #lt;ring#gt;\"| n1"));
    // The names of many edges would cover each other.
    drawing.edges = vec![drawing.edges[0].clone(); 61];
    assert!(!drawing.render(Format::Svg).contains("class=\"l\""));
}
