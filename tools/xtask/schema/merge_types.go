package main

import (
	"encoding/json"
	"reflect"
	"sort"
	"strings"

	"k8s.io/kube-openapi/pkg/schemaconv"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// mergeTypes are the types as server-side apply sees them, one per line: for tests. Special types
// are written out where they are used, as the schema crate does.
func (d *definitions) mergeTypes() []byte {
	converted, err := schemaconv.ToSchemaFromOpenAPI(d.schemas, false)
	check(err)
	printer := mergePrinter{schema: converted, special: map[string]bool{}}
	for typ := range special {
		printer.special[modelName(typ)] = true
	}
	var lines []string
	for _, definition := range converted.Types {
		if !printer.special[definition.Name] && !strings.HasPrefix(definition.Name, "__") {
			lines = append(lines, definition.Name+" "+printer.atom(&definition.Atom)+"\n")
		}
	}
	sort.Strings(lines)
	return []byte(strings.Join(lines, ""))
}

type mergePrinter struct {
	schema  *schema.Schema
	special map[string]bool
}

func (p *mergePrinter) atom(atom *schema.Atom) string {
	var parts []string
	if atom.Scalar != nil {
		parts = append(parts, string(*atom.Scalar))
	}
	if list := atom.List; list != nil {
		kind := "atomic"
		if list.ElementRelationship == schema.Associative {
			kind = "set"
			if len(list.Keys) > 0 {
				kind = strings.Join(list.Keys, ",")
			}
		}
		parts = append(parts, "["+kind+"]"+p.ref(&list.ElementType))
	}
	if object := atom.Map; object != nil {
		parts = append(parts, p.object(object))
	}
	return strings.Join(parts, "|")
}

func (p *mergePrinter) object(object *schema.Map) string {
	var fields []string
	for _, field := range object.Fields {
		text := field.Name + ":" + p.ref(&field.Type)
		if field.Default != nil {
			value, err := json.Marshal(field.Default)
			check(err)
			text += "=" + string(value)
		}
		fields = append(fields, text)
	}
	sort.Strings(fields)
	if !reflect.DeepEqual(object.ElementType, schema.TypeRef{}) {
		fields = append(fields, "*:"+p.ref(&object.ElementType))
	}
	kind := ""
	if object.ElementRelationship == schema.Atomic {
		kind = "atomic;"
	}
	return "{" + kind + strings.Join(fields, ";") + "}"
}

func (p *mergePrinter) ref(ref *schema.TypeRef) string {
	if ref.NamedType == nil {
		return p.atom(&ref.Inlined)
	}
	name := *ref.NamedType
	if p.special[name] {
		atom, _ := p.schema.Resolve(*ref)
		return p.atom(&atom)
	}
	text := "@" + name
	if ref.ElementRelationship != nil {
		text += "!" + string(*ref.ElementRelationship)
	}
	return text
}
