// What plugins do, in plain words.

export const FILTERS: Record<string, string> = {
  NodeUnschedulable: "Is the node open?",
  NodeName: "Is it the node that was named?",
  TaintToleration: "Are its taints tolerated?",
  NodeAffinity: "Does it have the labels?",
  NodePorts: "Are the ports free?",
  NodeResourcesFit: "Is there room?",
  VolumeRestrictions: "May it share the volumes?",
  NodeVolumeLimits: "Can it attach more volumes?",
  VolumeBinding: "Can volumes be bound there?",
  VolumeZone: "Are the volumes in its zone?",
  PodTopologySpread: "Does the spread stay even?",
  InterPodAffinity: "Are the neighbours right?",
  DynamicResources: "Are devices free?",
  NodeDeclaredFeatures: "Does it have the features?",
};

export const SCORES: Record<string, string> = {
  TaintToleration: "taints", NodeAffinity: "affinity", NodeResourcesFit: "room",
  NodeResourcesBalancedAllocation: "balance", PodTopologySpread: "spread", InterPodAffinity: "neighbours",
  ImageLocality: "images", VolumeBinding: "volumes", DynamicResources: "devices",
};

const MEANINGS: [RegExp, string][] = [
  [/^Insufficient (.+)$/, "too little $1"],
  [/^Too many pods$/, "full of pods"],
  [/untolerated taint/, "a taint keeps it away"],
  [/were unschedulable/, "cordoned"],
  [/didn't match Pod's node affinity/, "not the labels that it asks for"],
  [/topology spread constraints \(missing/, "no label to spread by"],
  [/topology spread constraints/, "too many of its like there"],
  [/anti-affinity/, "a neighbour is in the way"],
  [/pod affinity/, "no neighbour that it wants"],
  [/free ports/, "its port is taken"],
];

/** What reasons mean, in plain words; those that are plain stay as they are. */
export function meaning(text: string): string {
  const parts = text.split(", ").map((part) => {
    const rule = MEANINGS.find(([pattern]) => pattern.test(part));
    if (!rule) return part;
    return rule[1].includes("$1") ? part.replace(...rule) : rule[1];
  });
  return parts.join(", ").replace(/, too little /g, ", ");
}
