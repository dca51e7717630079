/**
 * Predicates: what `and`, `or` and `not` make of the leaves of a language. Access rules, the filters of plans and the
 * conditions of guarded plans are predicates, so each interpreter of one has only its leaves to interpret.
 */
export type Predicate<Leaf> =
  | Leaf
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Predicate<Leaf>[] }
  | { readonly kind: 'not'; readonly part: Predicate<Leaf> }

/** What the parts of a predicate become. `negated`: within an odd number of `not`. */
export interface Folding<Leaf, R> {
  readonly and: (parts: readonly R[], negated: boolean) => R
  readonly or: (parts: readonly R[], negated: boolean) => R
  readonly not: (part: R, negated: boolean) => R
  readonly leaf: (leaf: Leaf, negated: boolean) => R
}

interface Tagged {
  readonly kind: string
}

/** Interprets a predicate, from its leaves upwards. */
export function fold<Leaf extends Tagged, R>(
  predicate: Predicate<Leaf>,
  folding: Folding<Leaf, R>,
  negated = false,
): R {
  if (isLeaf(predicate)) return folding.leaf(predicate, negated)
  if (predicate.kind === 'not') return folding.not(fold(predicate.part, folding, !negated), negated)
  const parts = predicate.parts.map(part => fold(part, folding, negated))
  return folding[predicate.kind](parts, negated)
}

function isLeaf<Leaf extends Tagged>(predicate: Predicate<Leaf>): predicate is Leaf {
  return predicate.kind !== 'and' && predicate.kind !== 'or' && predicate.kind !== 'not'
}

/** From left to right. */
export function leavesOf<Leaf extends Tagged>(predicate: Predicate<Leaf>): readonly Leaf[] {
  if (isLeaf(predicate)) return [predicate]
  return predicate.kind === 'not' ? leavesOf(predicate.part) : predicate.parts.flatMap(part => leavesOf(part))
}

/** The predicate with another in place of each leaf. */
export function mapLeaves<Leaf extends Tagged>(
  predicate: Predicate<Leaf>,
  map: (leaf: Leaf) => Predicate<Leaf>,
): Predicate<Leaf> {
  if (isLeaf(predicate)) return map(predicate)
  if (predicate.kind === 'not') return { kind: 'not', part: mapLeaves(predicate.part, map) }
  return { kind: predicate.kind, parts: predicate.parts.map(part => mapLeaves(part, map)) }
}

/** Whether everything that fulfils the predicate also fulfils some leaf for which `test` holds. */
export function implies<Leaf extends Tagged>(
  predicate: Predicate<Leaf>,
  test: (leaf: Leaf) => boolean,
): boolean {
  return fold(predicate, {
    and: parts => parts.includes(true),
    or: parts => parts.length > 0 && !parts.includes(false),
    not: () => false,
    leaf: test,
  })
}
