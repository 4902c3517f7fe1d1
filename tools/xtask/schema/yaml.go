package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"

	"sigs.k8s.io/yaml"
)

// yamlFixture is a text and what upstream makes of it, or a value and how upstream writes it.
type yamlFixture struct {
	Text  string          `json:"text"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Error string          `json:"error,omitempty"`
	// Strict is the error if keys must not be given twice.
	Strict string `json:"strict,omitempty"`
	// Written says that the text was made from the JSON.
	Written bool `json:"written,omitempty"`
}

var yamlTexts = []string{
	"", "a: b: c", "\t- x", "kind: [", "- a\n- b\n", `{"kind": "ConfigMap"`, "a: [1, 2", "a: 'x", "a: \"x", "- - a\n - b",
	"a:\n  b: 1\n c: 2\n", "a: &x {b: 1}\nc: *x\n", "a: *unknown", "<<: {a: 1}\nb: 2", "a: 1\n<<: [{a: 2, b: 3}, {b: 4, c: 5}]\n",
	"a: yes\nb: no\nc: on\nd: off\ne: y\nf: n\ng: \"yes\"\nh: 'no'\n", "a: 010\nb: 0x1F\nc: 0o17\nd: 0b101\ne: 1_000\nf: +5\ng: -0x10\nh: 08\n",
	"a: 1.5\nb: 1e3\nc: .5\nd: 1.\ne: 1.0\nf: -1.5e-3\ng: 1e\nh: 1.2.3\n", "a: ~\nb: null\nc:\nd: Null\ne: \"\"\n",
	"a: 2024-01-02\nb: 2024-01-02T03:04:05Z\nc: 2024-1-2 3:4:5\nd: 2024-13-01\n", "1: a\n2.5: b\ntrue: c\nyes: d\n0x10: e\n",
	"a: 1\na: 2\n", "a: 1\nb:\n  c: x\n  c: y\na: z\n", "a: {b: 1, b: 2}\n", "a: 1\na:\n  b: 1\n",
	"a: |\n  x\n   y\nb: >\n  x\n  y\n\n  z\nc: |-\n  x\nd: |+\n  x\n\n", "a: \"x\\ny\\u00e9\\x41\"\n", "a: 'it''s'\n",
	"# c\na: 1 # d\nb: 'x # y'\n", "---\na: 1\n---\nb: 2\n", "---\n...\n", "--- x\n", "%YAML 1.1\n---\na: 1\n",
	"a: !!str 5\nb: !!int \"5\"\n", "? a\n: b\n", "a:\n- b\n- c:\n  - d\n", "\"a\": {\"b\": [1, 2.5, \"x\", null, true]}\n",
	"a: 9223372036854775807\nb: 18446744073709551615\n", "a: @x", "a: `x`", "a: %x", "a:\tb\n", "a: b\n\tc: d\n", "x: y\n- z\n",
	"a: 'b\n", "a: \"\\q\"\n", "[a, b", "{a: b]", "a: b\nc\n", "a: b\n  c: d\n", "- a\nb: c\n", "&a", "a: [b, c]]\n",
	"a: {b, c}\n", "foo: bar: baz\nx: y", "\"a\" b: c", "a: |x\n  y\n", "- ? a\n", "a: >-\n", "null", "5", "\"x\"", "a: <<\n", "<<: 5\n",
	"key: value\n  bad: indent\n", "a: 1\n b: 2\n", "a:\n    - b\n  - c\n", "a: b:\n", "\x01", "a: \x07b", "{}", "[]", "{a: 1,}", "a: .inf\n", "a: -.inf", "a: .nan",
}

// yamlFixtures are texts to read and values to write.
func yamlFixtures() []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for _, text := range yamlTexts {
		check(encoder.Encode(readYAML(text)))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		value, err := json.Marshal(randomValue(random, 0))
		check(err)
		text, err := yaml.JSONToYAML(value)
		check(err)
		check(encoder.Encode(yamlFixture{Text: string(text), JSON: value, Written: true}))
		// The same text with something taken out reads differently, or not at all.
		at := random.IntN(len(text))
		broken := string(text[:at]) + string(text[min(len(text), at+1+random.IntN(3)):])
		if json.Valid([]byte(strings.ToValidUTF8(broken, ""))) || strings.ToValidUTF8(broken, "") == broken {
			check(encoder.Encode(readYAML(broken)))
		}
	}
	return out.Bytes()
}

func readYAML(text string) yamlFixture {
	read := yamlFixture{Text: text}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		read.Error = err.Error()
		return read
	}
	read.JSON = data
	if _, err := yaml.YAMLToJSONStrict([]byte(text)); err != nil {
		read.Strict = err.Error()
	}
	return read
}

var words = []string{"", " ", "a", "b c", "true", "yes", "null", "~", "0", "1.5", "0x10", "010", "1:30", "2024-01-02", "2024-01-02T03:04:05Z",
	"- x", "x: y", "x #y", "#x", ": x", "x:", "[a]", "{a}", "*a", "&a", "!a", "|", ">", "'q'", "\"q\"", "%x", "@x", "`x`", "?", "? x", "-", "--", "---", "...", ".",
	"a\nb", "a\nb\n", "a\n\n", "\na", " a\nb", "a \nb", "a\n b", "x ", " x", "tab\there", "ünï", "😀", "\u00a0", "\u2028", "a\rb", "\u0007", "\ufeff", "<<", "=", "a,b", "1e3", "+1", ".5", "1_000", "0o7", "on", "N",
	"k8s.io/x", "f:metadata", "k:{\"name\":\"c0\"}", ".", "v:\"x\"", "10.0.0.1", "sha256:abc", "100m", "1Gi",
	"the quick brown fox jumps over the lazy dog and then runs on and on until the line is far too long to be kept in one piece",
	"it's a \"long\" text: with everything that a scalar could want, so that it has to be quoted and folded as well, if at all possible",
	"tab\tand more words than fit on a line of eighty columns, so that a double quoted scalar has to be folded, \\ and a backslash",
	"a-very-long-word-without-any-space-in-it-so-that-there-is-no-place-to-fold-it-anywhere-even-if-one-wanted-to x",
	"one two three four five six seven eight nine ten eleven twelve thirteen fourteen  two spaces  here and  there to see what happens to them",
	strings.Repeat("k", 130)}

func randomValue(random *rand.Rand, depth int) any {
	kind := random.IntN(8)
	if depth > 4 && kind < 4 {
		kind = 7
	}
	switch kind {
	case 0, 1, 2:
		object := map[string]any{}
		for range random.IntN(5) {
			object[words[random.IntN(len(words))]] = randomValue(random, depth+1)
		}
		return object
	case 3:
		list := []any{}
		for range random.IntN(4) {
			list = append(list, randomValue(random, depth+1))
		}
		return list
	case 4:
		return []any{nil, true, false, 0, -5, 1.5, 1e21, 1e-7, 123456789.25, 9007199254740993}[random.IntN(10)]
	default:
		return words[random.IntN(len(words))]
	}
}
