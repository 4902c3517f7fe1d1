package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"

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

// publishedKinds are the kinds per type. What all groups share has more of them in some documents.
func publishedKinds(folder string) map[string][]any {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	check(err)
	found := map[string][]any{}
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
			kinds, _ := schema[groupVersionKind].([]any)
			if len(kinds) > len(found[name]) {
				found[name] = kinds
			}
		}
	}
	return found
}

// json holds schemas and query parameters by name, in order.
func (d *definitions) json(published string) []byte {
	data, err := json.Marshal(map[string]any{
		"schemas":    d.schemas,
		"parameters": publishedParameters(filepath.Join(published, "api/openapi-spec/v3")),
	})
	check(err)
	var out bytes.Buffer
	check(json.Indent(&out, data, "", ""))
	return out.Bytes()
}

type parameter struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	In          string `json:"in"`
	Required    bool   `json:"required,omitempty"`
	Schema      any    `json:"schema"`
}

// publishedParameters are all query and path parameters that operations on a Deployment have, and
// those of a Pod's log. Where the text for patches differs it is under "NAME/patch".
func publishedParameters(folder string) map[string]parameter {
	found := map[string]parameter{}
	for file, prefixes := range map[string][]string{
		"apis__apps__v1_openapi.json": {"/apis/apps/v1/namespaces/{namespace}/deployments"},
		"api__v1_openapi.json":        {"/api/v1/namespaces/{namespace}/pods/{name}/log"},
	} {
		var document struct {
			Paths map[string]map[string]json.RawMessage
		}
		data, err := os.ReadFile(filepath.Join(folder, file))
		check(err)
		check(json.Unmarshal(data, &document))
		for path, item := range document.Paths {
			if strings.HasPrefix(path, prefixes[0]) {
				addParameters(found, item)
			}
		}
	}
	return found
}

func addParameters(found map[string]parameter, item map[string]json.RawMessage) {
	for method, data := range item {
		var operation struct{ Parameters []parameter }
		if method == "parameters" {
			check(json.Unmarshal(data, &operation.Parameters))
		} else {
			check(json.Unmarshal(data, &operation))
		}
		for _, one := range operation.Parameters {
			key := one.Name
			if method == "patch" && key == "fieldManager" {
				key += "/patch"
			}
			if one.Name != "name" {
				found[key] = one
			}
		}
	}
}
