"""The Python client against `stowplan up`: `cargo xtask clients` runs this."""

import os
import threading
import unittest

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException

HERE = os.path.dirname(os.path.abspath(__file__))


def pod(name):
    container = client.V1Container(
        name="main",
        image="main:1",
        resources=client.V1ResourceRequirements(requests={"cpu": "100m"}),
    )
    return client.V1Pod(
        metadata=client.V1ObjectMeta(name=name, labels={"app": "web"}),
        spec=client.V1PodSpec(containers=[container], scheduler_name="nobody"),
    )


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        config.load_kube_config()
        cls.core = client.CoreV1Api()
        metadata = client.V1ObjectMeta(generate_name="python-")
        made = cls.core.create_namespace(client.V1Namespace(metadata=metadata))
        cls.space = made.metadata.name
        account = client.V1ServiceAccount(metadata=client.V1ObjectMeta(name="default"))
        cls.core.create_namespaced_service_account(cls.space, account)

    def refused(self, status, call, *arguments, **named):
        with self.assertRaises(ApiException) as caught:
            call(*arguments, **named)
        self.assertEqual(caught.exception.status, status, caught.exception.body)
        return caught.exception

    def config_map(self, name, data, labels=None):
        body = client.V1ConfigMap(
            metadata=client.V1ObjectMeta(name=name, labels=labels), data=data
        )
        return self.core.create_namespaced_config_map(self.space, body)

    def test_objects_are_created_read_changed_and_deleted(self):
        made = self.config_map("c1", {"a": "1"}, {"kind": "c"})
        self.assertTrue(made.metadata.uid)
        self.refused(409, self.config_map, "c1", {})
        patched = self.core.patch_namespaced_config_map(
            "c1", self.space, {"data": {"b": "2"}}
        )
        self.assertEqual(patched.data, {"a": "1", "b": "2"})
        operations = [{"op": "remove", "path": "/data/a"}]
        patched = self.core.patch_namespaced_config_map("c1", self.space, operations)
        self.assertEqual(patched.data, {"b": "2"})
        made.data = {"stale": "yes"}
        self.refused(
            409, self.core.replace_namespaced_config_map, "c1", self.space, made
        )
        found = self.core.list_namespaced_config_map(self.space, label_selector="kind=c")
        self.assertEqual([item.metadata.name for item in found.items], ["c1"])
        self.core.delete_namespaced_config_map("c1", self.space)
        self.refused(404, self.core.read_namespaced_config_map, "c1", self.space)

    def test_lists_come_in_pages(self):
        for number in range(5):
            self.config_map(f"page-{number}", {}, {"kind": "page"})
        seen, token = [], None
        while True:
            page = self.core.list_namespaced_config_map(
                self.space, label_selector="kind=page", limit=2, _continue=token
            )
            seen += [item.metadata.name for item in page.items]
            token = page.metadata._continue
            if not token:
                break
        self.assertEqual(seen, [f"page-{number}" for number in range(5)])

    def test_a_watch_sees_what_comes_after_its_list(self):
        listed = self.core.list_namespaced_secret(self.space)

        def work():
            for number in range(3):
                name = f"s{number}"
                body = client.V1Secret(
                    metadata=client.V1ObjectMeta(name=name), string_data={"a": "b"}
                )
                self.core.create_namespaced_secret(self.space, body)
                self.core.delete_namespaced_secret(name, self.space)

        worker = threading.Thread(target=work)
        worker.start()
        seen = []
        stream = watch.Watch()
        for event in stream.stream(
            self.core.list_namespaced_secret,
            self.space,
            resource_version=listed.metadata.resource_version,
            timeout_seconds=60,
        ):
            seen.append((event["type"], event["object"].metadata.name))
            if len(seen) == 6:
                stream.stop()
        worker.join()
        expected = []
        for number in range(3):
            expected += [("ADDED", f"s{number}"), ("DELETED", f"s{number}")]
        self.assertEqual(seen, expected)

    def test_a_watch_from_the_future_or_the_past_is_an_error(self):
        error = self.refused(
            400,
            self.core.list_namespaced_secret,
            self.space,
            resource_version="x",
        )
        self.assertIn("resource version", error.body)

    def test_pods_are_bound_and_evicted(self):
        node = client.V1Node(metadata=client.V1ObjectMeta(name=self.space))
        self.core.create_node(node)
        made = self.core.create_namespaced_pod(self.space, pod("web"))
        self.assertEqual(made.spec.restart_policy, "Always")
        self.assertEqual(made.status.phase, "Pending")
        target = client.V1ObjectReference(kind="Node", name=self.space)
        binding = client.V1Binding(
            metadata=client.V1ObjectMeta(name="web"), target=target
        )
        # The answer is a Status, which the generated code takes for a Binding.
        self.core.create_namespaced_pod_binding(
            "web", self.space, binding, _preload_content=False
        )
        bound = self.core.read_namespaced_pod("web", self.space)
        self.assertEqual(bound.spec.node_name, self.space)
        ready = {"type": "Ready", "status": "True"}
        self.core.patch_namespaced_pod_status(
            "web", self.space, {"status": {"phase": "Running", "conditions": [ready]}}
        )
        policy = client.PolicyV1Api()
        policy.create_namespaced_pod_disruption_budget(
            self.space,
            client.V1PodDisruptionBudget(
                metadata=client.V1ObjectMeta(name="web"),
                spec=client.V1PodDisruptionBudgetSpec(
                    min_available=1,
                    selector=client.V1LabelSelector(match_labels={"app": "web"}),
                ),
            ),
        )
        status = {"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1}
        status |= {"disruptionsAllowed": 0, "expectedPods": 1}
        change = policy.patch_namespaced_pod_disruption_budget_status
        change("web", self.space, {"status": status})
        eviction = client.V1Eviction(
            metadata=client.V1ObjectMeta(name="web"),
            delete_options=client.V1DeleteOptions(grace_period_seconds=0),
        )
        evict = self.core.create_namespaced_pod_eviction
        self.refused(429, evict, "web", self.space, eviction)
        change("web", self.space, {"status": {"disruptionsAllowed": 1}})
        evict("web", self.space, eviction, _preload_content=False)
        self.refused(404, self.core.read_namespaced_pod, "web", self.space)

    def test_the_dynamic_client_finds_kinds_by_discovery(self):
        anything = dynamic.DynamicClient(client.ApiClient())
        sets = anything.resources.get(api_version="apps/v1", kind="StatefulSet")
        labels = {"app": "db"}
        body = {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "db"},
            "spec": {
                "serviceName": "db",
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "db", "image": "db:1"}]},
                },
            },
        }
        made = sets.create(body=body, namespace=self.space)
        self.assertEqual(made.spec.replicas, 1)
        patched = sets.patch(
            body={"spec": {"replicas": 3}},
            name="db",
            namespace=self.space,
            content_type="application/merge-patch+json",
        )
        self.assertEqual(patched.spec.replicas, 3)
        applied = sets.server_side_apply(
            body=body | {"metadata": {"name": "db", "labels": {"mine": "yes"}}},
            name="db",
            namespace=self.space,
            field_manager="python",
            force_conflicts=True,
        )
        self.assertEqual(applied.metadata.labels["mine"], "yes")
        sets.delete(name="db", namespace=self.space)
        self.assertEqual(sets.get(namespace=self.space).items, [])

    def test_files_are_created(self):
        made = utils.create_from_yaml(
            client.ApiClient(),
            os.path.join(HERE, "objects.yaml"),
            namespace=self.space,
        )
        self.assertEqual(len(made), 3)
        apps = client.AppsV1Api()
        scale = apps.read_namespaced_deployment_scale("shop", self.space)
        self.assertEqual(scale.spec.replicas, 2)
        jobs = client.BatchV1Api().list_namespaced_job(self.space)
        self.assertEqual([job.metadata.name for job in jobs.items], ["once"])
        with self.assertRaises(utils.FailToCreateError):
            utils.create_from_yaml(
                client.ApiClient(),
                os.path.join(HERE, "objects.yaml"),
                namespace=self.space,
            )

    def test_custom_objects(self):
        definitions = client.ApiextensionsV1Api()
        name = f"{self.space}s.example.com"
        names = client.V1CustomResourceDefinitionNames(
            plural=f"{self.space}s",
            singular=self.space,
            kind=self.space.capitalize(),
        )
        schema = client.V1JSONSchemaProps(
            type="object",
            properties={
                "spec": client.V1JSONSchemaProps(
                    type="object",
                    properties={"size": client.V1JSONSchemaProps(type="integer")},
                )
            },
        )
        version = client.V1CustomResourceDefinitionVersion(
            name="v1",
            served=True,
            storage=True,
            schema=client.V1CustomResourceValidation(open_apiv3_schema=schema),
        )
        definitions.create_custom_resource_definition(
            client.V1CustomResourceDefinition(
                metadata=client.V1ObjectMeta(name=name),
                spec=client.V1CustomResourceDefinitionSpec(
                    group="example.com",
                    scope="Namespaced",
                    names=names,
                    versions=[version],
                ),
            )
        )
        custom = client.CustomObjectsApi()
        where = ("example.com", "v1", self.space, names.plural)
        body = {
            "apiVersion": "example.com/v1",
            "kind": names.kind,
            "metadata": {"name": "one"},
            "spec": {"size": 3},
        }
        custom.create_namespaced_custom_object(*where, body)
        body = body | {"metadata": {"name": "two"}, "spec": {"size": "big"}}
        self.refused(422, custom.create_namespaced_custom_object, *where, body)
        found = custom.list_namespaced_custom_object(*where)
        self.assertEqual([item["spec"]["size"] for item in found["items"]], [3])
        definitions.delete_custom_resource_definition(name)

    def test_access(self):
        reviews = client.AuthorizationV1Api()
        review = client.V1SelfSubjectAccessReview(
            spec=client.V1SelfSubjectAccessReviewSpec(
                resource_attributes=client.V1ResourceAttributes(
                    verb="create", resource="pods", namespace=self.space
                )
            )
        )
        answer = reviews.create_self_subject_access_review(review)
        self.assertTrue(answer.status.allowed)
        other = client.ApiClient()
        other.set_default_header("Impersonate-User", "nobody")
        error = self.refused(
            403, client.CoreV1Api(other).list_namespaced_pod, self.space
        )
        self.assertIn('User \\"nobody\\" cannot list resource', error.body)

    def test_versions(self):
        version = client.VersionApi().get_code()
        self.assertEqual((version.major, version.minor), ("1", "36"))


if __name__ == "__main__":
    unittest.main()
