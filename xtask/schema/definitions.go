package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"

	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// definitions are the OpenAPI v3 schemas of the kinds and of what they reach.
type definitions struct {
	schemas map[string]*spec.Schema
	// all that upstream generates, embedded structs included, which are not published.
	all map[string]common.OpenAPIDefinition
}

func (d *definitions) schema(name string) *spec.Schema {
	if schema, ok := d.schemas[name]; ok {
		return schema
	}
	if definition, ok := d.all[name]; ok {
		return &definition.Schema
	}
	return nil
}

// buildDefinitions does what kube-apiserver does. The kinds that a type stands for are taken from
// the published documents, so that the schemes of all API groups need not be linked in.
func buildDefinitions(published string) *definitions {
	groupVersionKinds := publishedKinds(filepath.Join(published, "api/openapi-spec/v3"))
	name := func(name string) (string, spec.Extensions) {
		if kinds, ok := groupVersionKinds[name]; ok {
			return name, spec.Extensions{groupVersionKind: kinds}
		}
		return name, nil
	}
	config := &common.OpenAPIV3Config{
		Info:              &spec.Info{},
		GetDefinitionName: name,
		GetDefinitions:    openapi.GetOpenAPIDefinitions,
	}
	config.Definitions = config.GetDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/components/schemas/" + common.EscapeJsonPointer(name))
	})
	names := []string{"io.k8s.apimachinery.pkg.apis.meta.v1.Patch"}
	for _, kind := range kinds {
		names = append(names, modelName(reflect.TypeOf(kind)))
	}
	schemas, err := builder3.BuildOpenAPIDefinitionsForResources(config, names...)
	check(err)
	return &definitions{schemas, config.Definitions}
}

const groupVersionKind = "x-kubernetes-group-version-kind"

func publishedKinds(folder string) map[string]any {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	check(err)
	found := map[string]any{}
	for _, file := range files {
		var document struct {
			Components struct {
				Schemas map[string]map[string]any
			}
		}
		data, err := os.ReadFile(file)
		check(err)
		check(json.Unmarshal(data, &document))
		for name, schema := range document.Components.Schemas {
			if kinds, ok := schema[groupVersionKind]; ok {
				found[name] = kinds
			}
		}
	}
	return found
}

// json is one object: schemas by name, in order.
func (d *definitions) json() []byte {
	data, err := json.Marshal(d.schemas)
	check(err)
	var out bytes.Buffer
	check(json.Indent(&out, data, "", ""))
	return out.Bytes()
}
