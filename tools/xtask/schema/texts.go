package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
)

// textWriter writes random JSON for a type, with mistakes now and then.
type textWriter struct {
	random   *rand.Rand
	mistakes float64
	text     strings.Builder
}

// Texts of the special types, and those that they refuse.
var specialTexts = map[string][]string{
	"!Quantity": {`"1"`, `"100m"`, `"0.5"`, `"1.5Gi"`, `"1e3"`, `"128974848"`, `"129e6"`, `"123Mi"`, `"0"`, `"-5"`,
		`"1000m"`, `"1024Ki"`, `"1.25"`, `100`, `0.1`, `1e3`, `"+3"`, `"1E"`, `"12E2"`, `" 2 "`, `"0.0001n"`,
		`"9223372036854775807"`, `"99999999999999999999"`, `"1Ei"`, `"3.14159265358979"`, `".5"`, `"5."`, `"000100"`,
		`"1000"`, `"0.1Ki"`, `"1e-3"`, `"100n"`, `"1500u"`, `"4000000Ki"`, `"10e-2"`, `"0Gi"`, `null`},
	"!Time": {`"2024-01-02T03:04:05Z"`, `"2024-01-02T03:04:05.678Z"`, `"2024-02-29T23:59:59+02:00"`,
		`"2024-01-02T3:04:05Z"`, `"2024-01-02T03:04:05,5Z"`, `"0001-01-01T00:00:00Z"`, `"1969-12-31T23:59:59-11:30"`, `null`},
	"!MicroTime": {`"2024-01-02T03:04:05.678901Z"`, `"2024-02-29T23:59:59.000000+02:00"`,
		`"0001-01-01T00:00:00.000000Z"`, `null`},
	"!IntOrString":  {`80`, `"http"`, `"50%"`, `0`, `-1`, `""`, `null`},
	"!RawExtension": {`{"a": [1, {"b": null}]}`, `{"kind":"X", "n": -5}`, `null`},
	"!FieldsV1":     {`{"f:a": {".": {}}}`, `{}`},
	"!JSON":         {`{"a": 1}`, `"x"`, `[1, "b"]`, `5`, `true`, `null`},
	"!SchemaOrBool": {`true`, `false`, `{"type": "string", "unknown": 1}`},
	"!SchemaOrArray": {`{"type": "object", "properties": {"a": {"type": "integer", "maximum": 5.5}}}`,
		`[{"type": "string"}, {"type": "number", "default": 1}]`},
	"!SchemaOrStringArray": {`["a", "b"]`, `{"minimum": 1}`, `{"maximum": 1.5e3}`},
}

var wrongTexts = map[string][]string{
	"!Quantity": {`"x"`, `""`, `"1 Gi"`, `"1.2.3"`, `"1Gib"`, `{}`, `["1"]`, `true`, `"-"`, `"1e"`, `"--1"`, `"."`, `"\u0031"`, `"+"`, `"1ee3"`},
	"!Time": {`"2024-13-01T00:00:00Z"`, `"2024-02-30T00:00:00Z"`, `"2024-01-01"`, `"x"`, `""`, `5`, `{}`, `"2024-01-02T24:00:00Z"`,
		`"2024-01-02T03:60:05Z"`, `"2024-01-02T03:04:61Z"`, `"2024-01-02T03:04:05"`, `"2024-01-02T03:04:05Zx"`,
		`"2024-01-02T03:04:05+25:00"`, `"2024-01-02T03:04:05+00:61"`, `"2024-1-2T03:04:05Z"`, `"2024-01-02 03:04:05Z"`,
		`"2024-01-02T03:04:05.Z"`, `"gr\u00fcn \"q\""`, `"2024-01-02T03:04:05*01:00"`, `"2024-01-02T03:04:05+x1:00"`, `"202"`, `"20x4-01-01T00:00:00Z"`},
	"!MicroTime":           {`"2024-01-02T03:04:05Z"`, `"2024-01-02T03:04:05.5Z"`, `"2024-01-02T03:04:05.1234567Z"`, `"trail-"`, `true`, `[1]`, `"2024-01-02T03:04:05.12345xZ"`},
	"!IntOrString":         {`1.5`, `99999999999`, `true`, `{}`, `[1]`},
	"!RawExtension":        {`5`, `"x"`, `[]`},
	"!FieldsV1":            {`5`, `"x"`, `[]`},
	"!JSON":                {`{}`},
	"!SchemaOrBool":        {`5`, `"x"`, `[]`, `{"type": 5}`, `{"items": {"items": {"maximum": "x"}}}`},
	"!SchemaOrArray":       {`{"type": {}}`, `["x", 5]`, `[{"type": 1}]`},
	"!SchemaOrStringArray": {`["a", 5]`, `{"type": {}}`},
}

var anyTexts = []string{`null`, `true`, `false`, `5`, `-7`, `1.5`, `1e-2`, `99999999999`, `"x"`, `""`, `"\u00e9\n"`,
	`[]`, `{}`, `["x"]`, `[5]`, `[null]`, `{"a": "b"}`, `{"a": {"b": [1]}}`, `[{"a": 1}]`, `300`, `"!"`, `"AA"`}

func (w *textWriter) pick(texts []string) string { return texts[w.random.IntN(len(texts))] }

func (w *textWriter) mistake() bool { return w.random.Float64() < w.mistakes }

func (w *textWriter) value(typ reflect.Type, depth int) {
	word, isSpecial := special[typ]
	if depth > 0 && w.mistake() {
		if isSpecial && w.random.IntN(3) > 0 {
			w.text.WriteString(w.pick(wrongTexts[word]))
		} else {
			w.text.WriteString(w.pick(anyTexts))
		}
		return
	}
	if isSpecial {
		w.text.WriteString(w.pick(specialTexts[word]))
		return
	}
	switch typ.Kind() {
	case reflect.Pointer:
		w.value(typ.Elem(), depth)
	case reflect.Struct:
		w.object(typ, depth)
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Uint8 {
			w.text.WriteString(w.pick([]string{`"aGVsbG8="`, `""`, `"AAEC"`, `"Zm9v\nYmFy"`, `"//79"`, `null`, `[1, 2, 255]`}))
			return
		}
		w.list(typ.Elem(), depth)
	case reflect.Map:
		w.entries(typ, depth)
	default:
		w.text.WriteString(w.basic(typ.Kind()))
	}
}

func (w *textWriter) basic(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return w.pick([]string{"true", "false"})
	case reflect.String:
		text, _ := json.Marshal(w.pick([]string{"a", "b-c", "", "Always", "x y", "ü\"<&>", "10.0.0.1", "app", "\u2028"}))
		return string(text)
	case reflect.Int32:
		return w.pick([]string{"0", "1", "-1", "8080", "2147483647", "-2147483648"})
	case reflect.Int64:
		return w.pick([]string{"0", "1", "-1", "300", "9223372036854775807"})
	case reflect.Uint32, reflect.Uint64, reflect.Uint8:
		return w.pick([]string{"0", "1", "200"})
	case reflect.Float64:
		return w.pick([]string{"0", "1", "1.0", "-2.5", "1e3", "0.1", "1.5e-7"})
	default:
		return w.pick([]string{`null`, `5`, `"x"`, `[1, {"a": 1.5}]`})
	}
}

func (w *textWriter) list(typ reflect.Type, depth int) {
	w.text.WriteByte('[')
	for i := range w.random.IntN(3) {
		if i > 0 {
			w.text.WriteString(", ")
		}
		w.value(typ, depth+1)
	}
	w.text.WriteByte(']')
}

func (w *textWriter) entries(typ reflect.Type, depth int) {
	keys := []string{"app", "k8s.io/x", "cpu", "memory"}
	w.random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	keys = keys[:w.random.IntN(3)]
	if len(keys) > 0 && w.mistake() {
		keys = append(keys, keys[0])
	}
	w.text.WriteByte('{')
	for i, key := range keys {
		if i > 0 {
			w.text.WriteByte(',')
		}
		fmt.Fprintf(&w.text, "%q:", key)
		w.value(typ.Elem(), depth+1)
	}
	w.text.WriteByte('}')
}

type member struct {
	name string
	typ  reflect.Type
}

func members(typ reflect.Type) []member {
	var all []member
	for field := range typ.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && field.Anonymous {
			all = append(all, members(field.Type)...)
		} else if name != "-" && field.IsExported() {
			all = append(all, member{name, field.Type})
		}
	}
	return all
}

func (w *textWriter) object(typ reflect.Type, depth int) {
	all := members(typ)
	w.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	// Wide at the root, narrow below: big enough to meet every field somewhere.
	count := min(len(all), max(1, 7-depth/2))
	if depth > 5 {
		count = min(len(all), 1+w.random.IntN(2))
	}
	all = all[:count]
	if w.mistake() && len(all) > 0 {
		all = append(all, all[0])
	}
	if w.mistake() {
		all = append(all, member{w.pick([]string{"unknown", "Name", "x\u00e9\"", "$patch"}), nil})
		last := w.random.IntN(len(all))
		all[last], all[len(all)-1] = all[len(all)-1], all[last]
	}
	w.text.WriteByte('{')
	for i, member := range all {
		if i > 0 {
			w.text.WriteString(", ")
		}
		name, _ := json.Marshal(member.name)
		fmt.Fprintf(&w.text, "%s: ", name)
		if member.typ == nil {
			w.text.WriteString(w.pick(anyTexts))
		} else {
			w.value(member.typ, depth+1)
		}
	}
	w.text.WriteByte('}')
}
