// Writes the tables of the schema crate: run by `cargo xtask schema`.
//
// Everything comes from published packages: the Go types of k8s.io/api, apimachinery and
// apiextensions-apiserver by reflection, and the OpenAPI definitions of k8s.io/kubernetes.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: schema KUBERNETES-MODULE-DIR CRATE-DIR")
	}
	published, crate := os.Args[1], os.Args[2]
	definitions := buildDefinitions(published)
	types := collectTypes(definitions)
	write(filepath.Join(crate, "src/generated/types.txt"), types.text())
	writeCompressed(filepath.Join(crate, "src/generated/openapi.json.zst"), definitions.json(published))
	writeCompressed(filepath.Join(crate, "tests/generated/merge-types.txt.zst"), definitions.mergeTypes())
	writeCompressed(filepath.Join(crate, "tests/generated/objects.jsonl.zst"), fixtures())
	writeCompressed(filepath.Join(crate, "tests/generated/yaml.jsonl.zst"), yamlFixtures())
}

func write(path string, data []byte) {
	check(os.MkdirAll(filepath.Dir(path), 0o755))
	check(os.WriteFile(path, data, 0o644))
	fmt.Printf("%s: %d bytes\n", path, len(data))
}

func writeCompressed(path string, data []byte) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	check(err)
	write(path, encoder.EncodeAll(data, nil))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
