package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"log"
	"reflect"
	"sort"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// special are the types that read and write themselves. The schema crate knows them by these words.
var special = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():                            "!Quantity",
	reflect.TypeFor[metav1.Time]():                                  "!Time",
	reflect.TypeFor[metav1.MicroTime]():                             "!MicroTime",
	reflect.TypeFor[intstr.IntOrString]():                           "!IntOrString",
	reflect.TypeFor[runtime.RawExtension]():                         "!RawExtension",
	reflect.TypeFor[metav1.FieldsV1]():                              "!FieldsV1",
	reflect.TypeFor[apiextensionsv1.JSON]():                         "!JSON",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "!SchemaOrArray",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "!SchemaOrBool",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "!SchemaOrStringArray",
}

type named interface{ OpenAPIModelName() string }

// modelName is the name of a type in OpenAPI documents.
func modelName(t reflect.Type) string {
	if model, ok := reflect.Zero(t).Interface().(named); ok {
		return model.OpenAPIModelName()
	}
	log.Fatalf("%s has no OpenAPI name", t)
	return ""
}

type table struct {
	definitions *definitions
	seen        map[reflect.Type]bool
	structs     []reflect.Type
}

func collectTypes(definitions *definitions) *table {
	t := &table{definitions: definitions, seen: map[reflect.Type]bool{}}
	for _, kind := range kinds {
		t.expression(reflect.TypeOf(kind))
	}
	for _, kind := range optionKinds {
		t.expression(reflect.TypeOf(kind))
	}
	return t
}

func (t *table) text() []byte {
	// Visiting a struct's fields may find more structs.
	texts := map[string]string{}
	for i := 0; i < len(t.structs); i++ {
		texts[modelName(t.structs[i])] = t.structText(t.structs[i])
	}
	names := make([]string, 0, len(texts))
	for name := range texts {
		names = append(names, name)
	}
	sort.Strings(names)
	var out bytes.Buffer
	out.WriteString(header)
	for _, name := range names {
		out.WriteString(texts[name])
	}
	return out.Bytes()
}

// expression writes a type: see the header of the table.
func (t *table) expression(typ reflect.Type) string {
	if word, ok := special[typ]; ok {
		if word == "!SchemaOrArray" {
			t.expression(reflect.TypeFor[apiextensionsv1.JSONSchemaProps]())
		}
		return word
	}
	if typ.Kind() != reflect.Interface && readsItself(typ) {
		log.Fatalf("%s reads itself", typ)
	}
	basic := func(word string) string {
		if typ.String() == typ.Kind().String() {
			return word
		}
		return word + "=" + typ.String()
	}
	switch typ.Kind() {
	case reflect.Bool, reflect.String, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64,
		reflect.Uint8, reflect.Float64:
		return basic(typ.Kind().String())
	case reflect.Interface:
		return "any"
	case reflect.Pointer:
		return "*" + t.expression(typ.Elem())
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		name := ""
		if typ.Name() != "" {
			name = typ.String()
			if _, ok := reflect.New(typ).Interface().(interface{ Marshal() ([]byte, error) }); ok {
				name += "!"
			}
		}
		return "[" + name + "]" + t.expression(typ.Elem())
	case reflect.Map:
		if typ.Key().Kind() != reflect.String {
			log.Fatalf("%s: keys are no strings", typ)
		}
		name := typ.String()
		if typ.Name() == "" && typ.Key().Name() == "string" {
			name = ""
		}
		return "{" + name + "}" + t.expression(typ.Elem())
	case reflect.Struct:
		if !t.seen[typ] {
			t.seen[typ] = true
			t.structs = append(t.structs, typ)
		}
		return "@" + modelName(typ)
	}
	log.Fatalf("%s: cannot be written", typ)
	return ""
}

// readsItself says whether a type has a JSON form of its own, which has to be in the list above.
func readsItself(typ reflect.Type) bool {
	pointer := reflect.New(typ).Interface()
	_, json := pointer.(json.Unmarshaler)
	_, text := pointer.(encoding.TextUnmarshaler)
	return json || text
}

func (t *table) structText(typ reflect.Type) string {
	schema := t.definitions.schema(modelName(typ))
	var out strings.Builder
	line(&out, "T", modelName(typ), typ.String(), mapType(schema))
	for i := 0; i < typ.NumField(); i++ {
		t.fieldText(&out, typ, typ.Field(i), schema)
	}
	return out.String()
}

func (t *table) fieldText(out *strings.Builder, typ reflect.Type, field reflect.StructField, schema *spec.Schema) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	if name == "-" || !field.IsExported() {
		return
	}
	flags := ""
	inline := false
	for _, option := range strings.Split(options, ",") {
		switch option {
		case "omitempty":
			flags += "e"
		case "omitzero":
			flags += "z"
		case "inline":
			inline = true
		case "":
		default:
			log.Fatalf("%s.%s: option %s", typ, field.Name, option)
		}
	}
	if name == "" && field.Anonymous {
		inline = true
	} else if name == "" {
		log.Fatalf("%s.%s has no JSON name", typ, field.Name)
	}
	number := ""
	if tag := field.Tag.Get("protobuf"); tag != "" && tag != "-" {
		number = strings.Split(tag, ",")[1]
	}
	if inline {
		line(out, "I", "", field.Name, t.expression(field.Type), "", number)
		return
	}
	columns := []string{"F", name, field.Name, t.expression(field.Type), flags, number,
		field.Tag.Get("patchStrategy"), field.Tag.Get("patchMergeKey")}
	if schema != nil {
		property, ok := schema.Properties[name]
		if !ok {
			log.Fatalf("%s.%s is not published", typ, field.Name)
		}
		columns = append(columns, listType(&property), mapType(&property), defaultValue(&property))
	}
	line(out, columns...)
}

func listType(schema *spec.Schema) string {
	kind, _ := schema.Extensions.GetString("x-kubernetes-list-type")
	keys, _ := schema.Extensions["x-kubernetes-list-map-keys"].([]any)
	for i, key := range keys {
		kind += []string{":", ","}[min(i, 1)] + fmt.Sprint(key)
	}
	return kind
}

func mapType(schema *spec.Schema) string {
	if schema == nil {
		return ""
	}
	kind, _ := schema.Extensions.GetString("x-kubernetes-map-type")
	return kind
}

func defaultValue(schema *spec.Schema) string {
	if schema.Default == nil {
		return ""
	}
	text, err := json.Marshal(schema.Default)
	check(err)
	return string(text)
}

// line writes one line of columns, without the empty ones at its end.
func line(out *strings.Builder, columns ...string) {
	out.WriteString(strings.TrimRight(strings.Join(columns, "\t"), "\t"))
	out.WriteByte('\n')
}

const header = `# Generated by cargo xtask schema from k8s.io/api, k8s.io/apimachinery and
# k8s.io/apiextensions-apiserver v0.36.4 and k8s.io/kubernetes v1.36.4 (Apache-2.0). Do not edit.
# T: name in OpenAPI, Go type, map type
# F: JSON name, Go name, type, omit when (e)mpty or (z)ero, protobuf number, patch strategy, patch
#    merge key, list type and keys, map type, default
# I: like F, for an embedded struct
# Types: *pointer, []list, {}map with text keys, @struct, !special, Go's basic types; [NAME] and
# {NAME} and BASIC=NAME are named Go types; a ! after the name is a message of its own in protobuf.
`
