// A tournament as it is drawn: thousands of nodes come down to groups of those that fared alike.

export interface Round {
  plugin: string;
  /** How many nodes came to this filter and how many it let through. */
  entered: number;
  out: number;
  reasons: { text: string; count: number; nodes: string[] }[];
}

export interface Row {
  /** Nodes with the same scores; the first few of them by name. */
  nodes: string[];
  count: number;
  total: number;
  scores: { raw: number | null; normalized: number; weight: number }[];
  best: boolean;
}

export interface Candidate {
  node: string;
  victims: string[];
  violations: number;
  chosen: boolean;
}

export interface Tournament {
  pod: {
    ns: string; name: string; priority: number; scheduler: string;
    state: string; node: string; requests: [string, string][];
  };
  outcome: "Fits" | "FitsAfterPreemption" | "FitsNowhere" | "Gated" | "Error";
  message: string;
  note: string;
  atDecision: boolean;
  lastAttempt: string;
  /** Who stopped it before any node was asked. */
  stopped: { plugin: string; reasons: string[] } | null;
  narrowed: number | null;
  nominated: string;
  total: number;
  feasible: number;
  rounds: Round[];
  skipped: string[];
  plugins: { name: string; weight: number }[];
  quiet: string[];
  rows: Row[];
  rowsLeft: number;
  winner: string;
  ties: number;
  packing: string;
  candidates: Candidate[];
  candidatesLeft: number;
  hopeless: { text: string; count: number }[];
  preemption: { ineligible: string; node: string; decidedBy: string } | null;
  help: { change: string; nodes: number; kind: string }[] | null;
  untried: number;
  spread: {
    key: string; maxSkew: number; when: string; minimum: number;
    domains: { name: string; pods: number; skew: number; counts: boolean; taint: string }[];
  }[];
}
