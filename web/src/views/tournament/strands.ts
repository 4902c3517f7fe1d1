// How a picture of few strands stands for many nodes.

/** How many strands fall at each station: in proportion, and at least one wherever a node does. */
export function share(outs: number[], left: number, strands: number): { falls: number[]; stay: number } {
  const total = outs.reduce((a, b) => a + b, 0) + left;
  if (total === 0) return { falls: outs.map(() => 0), stay: 0 };
  const size = Math.min(strands, total);
  const falls = outs.map((n) => (n === 0 ? 0 : Math.max(1, Math.round((n / total) * size))));
  let stay = left === 0 ? 0 : Math.max(1, Math.round((left / total) * size));
  const sum = () => falls.reduce((a, b) => a + b, 0) + stay;
  while (sum() > size) {
    const most = Math.max(stay, ...falls);
    if (most <= 1) break;
    if (stay === most) stay -= 1;
    else falls[falls.indexOf(most)]! -= 1;
  }
  return { falls, stay };
}
