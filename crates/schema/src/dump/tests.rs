use super::*;
use serde_json::json;

fn port(value: Value) -> String {
    dump_for_hash("io.k8s.api.core.v1.EndpointPort", &value).unwrap()
}

#[test]
fn structs_have_all_their_fields() {
    assert_eq!(
        port(json!({"name": "http", "port": 80, "protocol": "TCP"})),
        "(v1.EndpointPort){Name:(string)http Port:(int32)80 Protocol:(v1.Protocol)TCP \
         AppProtocol:(*string)<nil>}"
    );
    assert_eq!(
        port(json!({"appProtocol": ""})),
        "(v1.EndpointPort){Name:(string) Port:(int32)0 Protocol:(v1.Protocol) AppProtocol:(*string)}"
    );
    assert_eq!(dump_for_hash("no.such.Struct", &json!({})), None);
}

#[test]
fn embedded_structs_lists_and_maps_are_told_as_such() {
    let probe = json!({"httpGet": {"port": "http"}, "periodSeconds": 3});
    let text = dump_for_hash("io.k8s.api.core.v1.Probe", &probe).unwrap();
    assert!(
        text.starts_with("(v1.Probe){ProbeHandler:(v1.ProbeHandler){Exec:(*v1.ExecAction)<nil> HTTPGet:(*v1.HTTPGetAction){"),
        "{text}"
    );
    assert!(
        text.contains(
            "Port:(intstr.IntOrString){Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string)http}"
        ),
        "{text}"
    );
    let resources =
        json!({"limits": {"memory": "1Gi", "cpu": "500m"}, "requests": {}, "claims": []});
    assert_eq!(
        dump_for_hash("io.k8s.api.core.v1.ResourceRequirements", &resources).unwrap(),
        "(v1.ResourceRequirements){Limits:(v1.ResourceList)map[\
         cpu:{i:(resource.int64Amount){value:(int64)500 scale:(resource.Scale)-3} \
         d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} s:(string)500m Format:(resource.Format)DecimalSI} \
         memory:{i:(resource.int64Amount){value:(int64)1073741824 scale:(resource.Scale)0} \
         d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} s:(string)1Gi Format:(resource.Format)BinarySI}] \
         Requests:(v1.ResourceList)<nil> Claims:([]v1.ResourceClaim)<nil>}"
    );
}

/// What go-spew prints of the quantities of v1.36.4.
#[test]
fn a_quantity_is_kept_as_it_was_written() {
    let printed = |text: &str| {
        let mut out = String::new();
        quantity::dump(&mut out, text);
        let fields = [
            "i:(resource.int64Amount)",
            "d:(resource.infDecAmount)",
            "(int64)",
        ];
        let fields =
            fields
                .into_iter()
                .chain(["(resource.Scale)", "(resource.Format)", "(string)"]);
        fields.fold(out, |out, field| out.replace(field, ""))
    };
    let small = |value: &str, kept: &str, format: &str| {
        format!("{{{{{value}}} {{Dec:(*inf.Dec)<nil>}} s:{kept} Format:{format}}}")
    };
    for (text, value, kept, format) in [
        ("100", "value:100 scale:0", "100", "DecimalSI"),
        ("1k", "value:1 scale:3", "1k", "DecimalSI"),
        ("100n", "value:100 scale:-9", "100n", "DecimalSI"),
        ("8Ki", "value:8192 scale:0", "", "BinarySI"),
        ("7Ki", "value:7168 scale:0", "7Ki", "BinarySI"),
        ("12e3", "value:12 scale:3", "12e3", "DecimalExponent"),
        ("1E", "value:1 scale:18", "1E", "DecimalSI"),
        ("1100m", "value:1100 scale:-3", "1100m", "DecimalSI"),
        ("0", "value:0 scale:0", "0", "DecimalSI"),
        ("16Gi", "value:17179869184 scale:0", "", "BinarySI"),
    ] {
        assert_eq!(printed(text), small(value, kept, format), "{text}");
    }
    for (text, words, format) in [
        ("1Ei", "0 62500000", "BinarySI"),
        (
            "9223372036854775807",
            "18446744072709551616 499999999",
            "DecimalSI",
        ),
        (
            "1234567890123456789",
            "7888470988684038656 66926059",
            "DecimalSI",
        ),
    ] {
        let wanted = format!(
            "{{{{value:0 scale:0}} {{Dec:(*inf.Dec){{unscaled:(big.Int){{neg:(bool)false \
             abs:(big.nat)[{words}]}} scale:(inf.Scale)9}}}} s: Format:{format}}}"
        );
        assert_eq!(printed(text), wanted, "{text}");
    }
}
