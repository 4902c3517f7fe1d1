package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"
)

// fixture is what upstream makes of a text. One of Object and Error is there.
type fixture struct {
	Type string `json:"type"`
	// Text is JSON, mostly.
	Text     string          `json:"text"`
	Object   json.RawMessage `json:"object,omitempty"`
	Problems []string        `json:"problems,omitempty"`
	Error    string          `json:"error,omitempty"`
	// Protobuf is the object as its message, without envelope.
	Protobuf []byte `json:"protobuf,omitempty"`
	// Restored is what comes back out of it, where that is not the object without its kind.
	Restored json.RawMessage `json:"restored,omitempty"`
	// Map is what upstream makes of it if it is read as a map first.
	Map *fixtureMap `json:"map,omitempty"`
}

type fixtureMap struct {
	Object   json.RawMessage `json:"object,omitempty"`
	Problems []string        `json:"problems,omitempty"`
	Error    string          `json:"error,omitempty"`
}

const fixturesPerKind = 14

// fixtures are random texts for every kind: half of them as they should be, half with mistakes.
func fixtures() []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for i, kind := range append(append([]any{}, kinds...), optionKinds...) {
		typ := reflect.TypeOf(kind)
		if strings.HasSuffix(typ.Name(), "List") {
			continue
		}
		for seed := range uint64(fixturesPerKind) {
			writer := textWriter{random: rand.New(rand.NewPCG(uint64(i), seed))}
			if seed >= fixturesPerKind/2 {
				writer.mistakes = 0.3 / float64(seed-fixturesPerKind/2+3)
			}
			writer.value(typ, 0)
			check(encoder.Encode(makeFixture(typ, writer.text.String())))
		}
	}
	return out.Bytes()
}

func makeFixture(typ reflect.Type, text string) *fixture {
	made := &fixture{Type: modelName(typ), Text: text}
	object := reflect.New(typ).Interface()
	problems, err := kjson.UnmarshalStrict([]byte(text), object)
	if err != nil {
		made.Error = err.Error()
	} else {
		made.Object, err = json.Marshal(object)
		check(err)
		for _, problem := range problems {
			made.Problems = append(made.Problems, problem.Error())
		}
		if message, ok := object.(protobufMessage); ok {
			made.throughProtobuf(message)
		}
	}
	made.Map = throughMap(typ, text)
	// Go's maps have no order: what depends on it is left out.
	for range 20 {
		if !reflect.DeepEqual(made.Map, throughMap(typ, text)) {
			made.Map = nil
			break
		}
	}
	return made
}

type protobufMessage interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func (f *fixture) throughProtobuf(message protobufMessage) {
	var err error
	f.Protobuf, err = message.Marshal()
	check(err)
	plain := reflect.ValueOf(message).Elem()
	if meta := plain.FieldByName("TypeMeta"); meta.IsValid() {
		meta.SetZero()
	}
	expected, err := json.Marshal(message)
	check(err)
	back := reflect.New(plain.Type()).Interface().(protobufMessage)
	check(back.Unmarshal(f.Protobuf))
	restored, err := json.Marshal(back)
	check(err)
	if !bytes.Equal(expected, restored) {
		f.Restored = restored
	}
}

func throughMap(typ reflect.Type, text string) *fixtureMap {
	var content map[string]any
	if utiljson.Unmarshal([]byte(text), &content) != nil || content == nil {
		return nil
	}
	made := &fixtureMap{}
	object := reflect.New(typ).Interface()
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, object, true)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		for _, problem := range strict.Errors() {
			made.Problems = append(made.Problems, problem.Error())
		}
	} else if err != nil {
		made.Error = err.Error()
		return made
	}
	made.Object, err = json.Marshal(object)
	if err != nil {
		return nil
	}
	if made.Object == nil {
		check(errors.New("no object"))
	}
	return made
}
