// Asking the cluster, and what it says.

import { fetchOwn } from "./key";

export class Refused extends Error {
  constructor(readonly code: number, message: string) {
    super(message);
  }
}

export async function ask<T>(path: string, init: { method?: string; body?: unknown; type?: string } = {}): Promise<T> {
  const request: RequestInit = { method: init.method ?? "GET" };
  if (init.body !== undefined) {
    request.body = typeof init.body === "string" ? init.body : JSON.stringify(init.body);
    request.headers = { "content-type": init.type ?? "application/json" };
  }
  let answer: Response;
  try {
    answer = await fetchOwn(path, request);
  } catch {
    throw new Refused(0, "stowplan does not answer");
  }
  const text = await answer.text();
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // Plain text.
  }
  if (!answer.ok) {
    const message = (body as { message?: string } | null)?.message;
    throw new Refused(answer.status, message ?? (text || `HTTP ${answer.status}`));
  }
  return body as T;
}

export interface Right {
  verb: string;
  group?: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name?: string;
}

const known = new Map<string, { at: number; may: Promise<boolean> }>();

/** Whether the session may do this; the cluster is asked, and what it says is good for half a minute. */
export function may(right: Right): Promise<boolean> {
  const key = JSON.stringify(right);
  const kept = known.get(key);
  if (kept && Date.now() - kept.at < 30_000) return kept.may;
  const { group = "", ...attributes } = right;
  const answer = ask<{ status?: { allowed?: boolean } }>(
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    {
      method: "POST",
      body: {
        apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: { group, ...attributes } },
      },
    },
  ).then((review) => review.status?.allowed === true, () => false);
  known.set(key, { at: Date.now(), may: answer });
  return answer;
}
