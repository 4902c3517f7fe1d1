// Evaluates expressions with cel-go, as Kubernetes 1.36 sets it up but without the type checker, and
// prints what they come to. One JSON string per line in, one JSON array [expression, answer] per line out.
// crates/cel/tests/it/cel_go.rs says how it is used.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
)

var variables = [][2]string{
	{"yes", "true"}, {"i", "42"}, {"four", "4"}, {"u", "42u"}, {"d", "0.1"}, {"s", "'some text'"},
	{"b", `b'\x00\xfe'`}, {"ints", "[5, -2, 5, 9]"}, {"texts", "['x', 'yy', '']"},
	{"m", "{'a': 5, 'c': 6}"}, {"wait", "duration('90m')"},
	{"at", "timestamp('2026-08-01T12:30:45.250Z')"},
}

func run(env *cel.Env, text string, vars map[string]any) (val ref.Val, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("internal error: %v", why)
		}
	}()
	ast, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, fmt.Errorf("unread")
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, err
	}
	val, _, err = program.Eval(vars)
	return val, err
}

// A number as Rust's {:.16e} prints it.
func double(n float64) string {
	switch {
	case math.IsNaN(n):
		return "NaN"
	case math.IsInf(n, 1):
		return "inf"
	case math.IsInf(n, -1):
		return "-inf"
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(n, 'e', 16, 64), "e")
	power, _ := strconv.Atoi(exponent)
	return fmt.Sprintf("%se%d", digits, power)
}

func shown(v ref.Val) string {
	switch v := v.(type) {
	case types.Null:
		return "null"
	case types.Bool:
		return fmt.Sprintf("bool %v", bool(v))
	case types.Int:
		return fmt.Sprintf("int %d", int64(v))
	case types.Uint:
		return fmt.Sprintf("uint %d", uint64(v))
	case types.Double:
		return "double " + double(float64(v))
	case types.String:
		var quoted bytes.Buffer
		out := json.NewEncoder(&quoted)
		out.SetEscapeHTML(false)
		out.Encode(string(v))
		return "string " + strings.TrimSpace(quoted.String())
	case types.Bytes:
		parts := []string{}
		for _, b := range []byte(v) {
			parts = append(parts, strconv.Itoa(int(b)))
		}
		return "bytes [" + strings.Join(parts, ", ") + "]"
	case types.Duration:
		return fmt.Sprintf("duration %d", v.Duration.Nanoseconds())
	case types.Timestamp:
		return fmt.Sprintf("timestamp %d.%09d", v.Time.Unix(), v.Time.Nanosecond())
	case *types.Type:
		return "type " + v.TypeName()
	case *types.Optional:
		if !v.HasValue() {
			return "optional.none()"
		}
		return "optional.of(" + shown(v.GetValue()) + ")"
	case traits.Mapper:
		entries := []string{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			entries = append(entries, shown(key)+": "+shown(v.Get(key)))
		}
		sort.Strings(entries)
		return "{" + strings.Join(entries, ", ") + "}"
	case traits.Lister:
		parts := []string{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			parts = append(parts, shown(it.Next()))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "other " + v.Type().TypeName()
}

func main() {
	options := []cel.EnvOption{
		cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(ext.StringsVersion(2)), ext.Sets(),
		ext.TwoVarComprehensions(), ext.Lists(ext.ListsVersion(3)),
	}
	for _, v := range variables {
		options = append(options, cel.Variable(v[0], cel.DynType))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		panic(err)
	}
	vars := map[string]any{}
	for _, v := range variables {
		val, err := run(env, v[1], map[string]any{})
		if err != nil {
			panic(err)
		}
		// cel-go appends in place where a slice has room.
		if b, ok := val.(types.Bytes); ok {
			val = types.Bytes(slices.Clip([]byte(b)))
		}
		vars[v[0]] = val
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for in.Scan() {
		var text string
		if err := json.Unmarshal(in.Bytes(), &text); err != nil {
			panic(err)
		}
		val, err := run(env, text, vars)
		var answer string
		switch {
		case err != nil && err.Error() == "unread":
			answer = "unread"
		case err != nil:
			answer = "fails: " + err.Error()
		default:
			answer = shown(val)
		}
		out.Encode([2]string{text, answer})
	}
}
