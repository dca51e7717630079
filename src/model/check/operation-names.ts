/** Checks the names of actions and queries: they must not clash with other paths or other fields of GraphQL's root types. */
import { isBuiltinPath } from '../builtin/actions.ts'
import type { Operation } from '../model.ts'
import type { Faults } from './faults.ts'
import { camelCase, checkCamelNames, pascalCase } from './names.ts'
import type { Outlines } from './outline.ts'

interface OperationNamesContext {
  readonly outlines: Outlines
  readonly faults: Faults
}

/** Below `/{collection}/`. */
const collectionPaths: ReadonlySet<string> = new Set(['aggregate', 'explain'])
/** The functions that `portico/client` has in each collection, in addition to the actions. */
const clientFunctions: ReadonlySet<string> = new Set(
  'all get first list count create update replace delete aggregate export subscribe'.split(' '),
)
const rootQueries = ['node', 'me', 'rateLimit', 'explain']

export class OperationNames {
  readonly #context: OperationNamesContext
  readonly #kind: 'actions' | 'queries'
  readonly #rootFields: ReadonlyMap<string, string>
  readonly #owners = new Map<string, string>()

  constructor(context: OperationNamesContext, kind: 'actions' | 'queries') {
    this.#context = context
    this.#kind = kind
    this.#rootFields = kind === 'actions' ? mutationsOf(context.outlines) : queriesOf(context.outlines)
  }

  check(operation: Operation): void {
    const { name, target, input } = operation
    const { faults } = this.#context
    const place = `${this.#kind}.${name}`
    if (this.#kind === 'actions') this.#checkPath(operation, place)
    if (name === 'then' || (this.#kind === 'actions' && target !== 'none' && clientFunctions.has(name))) {
      faults.add(
        place,
        `The function \`${name}\` of \`portico/client\` would have the same name. Choose another name.`,
      )
    }
    if (this.#kind === 'actions' && (name === 'as' || name === 'asSystem'))
      faults.add(place, `\`actions.${name}\` is the actions as somebody else. Choose another name.`)
    const camel = camelCase(name)
    const owner = this.#rootFields.get(camel) ?? this.#owners.get(camel)
    if (owner !== undefined) {
      faults.add(place, `Its GraphQL name, \`${camel}\`, is also that of ${owner}. Choose another name.`)
    }
    this.#owners.set(camel, `\`${place}\``)
    checkCamelNames(input.keys(), `${place}.input`, faults)
  }

  #checkPath({ name, target, collection = '' }: Operation, place: string): void {
    const { outlines, faults } = this.#context
    if (target === 'collection' && collectionPaths.has(name)) {
      faults.add(place, `/${collection}/${name} is a path of the API itself. Choose another name.`)
    }
    if (target !== 'item') return
    const isAction = isBuiltinPath(collection, name)
    const outline = outlines.get(collection)
    const isFile = outline?.fields.get(name)?.type.file !== undefined
    if (!isAction && !isFile && !outline?.relations.has(name)) return
    const kind = isFile ? 'file' : 'relation'
    const owner = isAction ? 'a built-in path' : `the path of the ${kind} \`${collection}.${name}\``
    faults.add(place, `/${collection}/{id}/${name} is ${owner}. Choose another name.`)
  }
}

function mutationsOf(outlines: Outlines): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (const { name, singular } of outlines.values()) {
    for (const verb of ['create', 'update', 'delete'])
      fields.set(verb + pascalCase(singular), `${verb} of \`${name}\``)
  }
  return fields
}

function queriesOf(outlines: Outlines): ReadonlyMap<string, string> {
  const fields = new Map(rootQueries.map(name => [name, 'a field of every schema']))
  for (const { name, singular } of outlines.values()) {
    const list = camelCase(name)
    for (const field of [camelCase(singular), list, `${list}Connection`, `${list}Aggregate`]) {
      fields.set(field, `a field of \`${name}\``)
    }
  }
  return fields
}
