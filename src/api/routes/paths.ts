/** Path → routes. */
import type { Route } from '../../model/model.ts'

/** The routes whose paths a path fits. At most one of them has the request's method. */
export interface RoutesAtPath {
  readonly routes: readonly Route[]
  /** The decoded parameters of one of them. */
  params(route: Route): Readonly<Record<string, string>>
}

export class RoutePaths {
  readonly #routes: readonly (readonly [route: Route, segments: readonly string[]])[]
  /** The first segments of all, since most requests are for other paths. */
  readonly #firstSegments: ReadonlySet<string>

  constructor(routes: Iterable<Route>) {
    this.#routes = [...routes].map(route => [route, route.path.split('/').slice(1)])
    this.#firstSegments = new Set(this.#routes.map(([, [first = '']]) => first))
  }

  at(path: string): RoutesAtPath | undefined {
    const end = path.indexOf('/', 1)
    if (!this.#firstSegments.has(path.slice(1, end === -1 ? undefined : end))) return undefined
    const sent = path.split('/').slice(1)
    const found = new Map<Route, Readonly<Record<string, string>>>()
    for (const [route, segments] of this.#routes) {
      const params = paramsOf(segments, sent)
      if (params !== undefined) found.set(route, params)
    }
    if (found.size === 0) return undefined
    return { routes: [...found.keys()], params: route => found.get(route) ?? {} }
  }
}

/** Undefined if the path does not fit. */
function paramsOf(
  segments: readonly string[],
  sent: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (segments.length !== sent.length) return undefined
  const params: Record<string, string> = Object.create(null)
  for (const [index, segment] of segments.entries()) {
    const given = sent[index] ?? ''
    if (!segment.startsWith(':')) {
      if (given !== segment) return undefined
      continue
    }
    const value = decoded(given)
    if (value === undefined) return undefined
    params[segment.slice(1)] = value
  }
  return Object.freeze(params)
}

/** Undefined if it is empty, or its escapes are not those of UTF-8 text. */
function decoded(segment: string): string | undefined {
  try {
    return segment === '' ? undefined : decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
