/** The OpenAPI document for people: with an example of every body, and samples of the typed client. */
import type { JsonSchema, JsonValue } from '../../../../model/fields/type.ts'
import type { Model } from '../../../../model/model.ts'
import { openapi } from '../document.ts'
import { Examples, errorExample } from './examples.ts'
import { clientSample } from './samples.ts'

type SchemaMembers = Readonly<Record<string, JsonSchema>>

const methods: ReadonlySet<string> = new Set(['get', 'post', 'put', 'patch', 'delete'])

function mapMembers(
  value: JsonValue | undefined,
  map: (member: JsonSchema, name: string) => JsonValue,
): JsonSchema {
  const members = Object.entries((value ?? {}) as SchemaMembers)
  return Object.fromEntries(members.map(([name, member]) => [name, map(member, name)]))
}

function schemaOf(content: JsonValue | undefined): JsonSchema | undefined {
  const media = (content as SchemaMembers | undefined)?.['application/json']
  return media?.['schema'] as JsonSchema | undefined
}

/** Adds examples and samples to one document. */
class ExampleWriter {
  readonly #model: Model
  readonly #examples: Examples
  readonly #origin: string

  constructor(model: Model, document: JsonSchema, origin: string) {
    this.#model = model
    this.#examples = new Examples(document)
    this.#origin = origin
  }

  operation(operation: JsonSchema, method: string, path: string): JsonSchema {
    const { requestBody, responses } = operation
    const body = requestBody as JsonSchema | undefined
    const input = body ? this.#bodyExample(body, method) : this.#queryExample(operation, path)
    const source = clientSample(this.#model, { method, path, input }, this.#origin)
    return {
      ...operation,
      ...(body && { requestBody: this.#withExample(body, input) }),
      ...(responses !== undefined && { responses: this.responses(responses) }),
      ...(source !== undefined && {
        'x-codeSamples': [{ lang: 'TypeScript', label: 'Typed client', source }],
      }),
    }
  }

  #bodyExample({ content }: JsonSchema, method: string): JsonValue | undefined {
    const schema = schemaOf(content)
    const example = schema && this.#examples.of(schema)
    if (method !== 'patch' || typeof example !== 'object' || example === null || Array.isArray(example))
      return example
    // A PATCH needs only the fields that it changes: two suffice as an example.
    const plainMembers = Object.entries(example).filter(([name]) => !name.endsWith('_id'))
    return Object.fromEntries(plainMembers.slice(0, 2))
  }

  /** The parameters of a model's query. */
  #queryExample({ parameters }: JsonSchema, path: string): JsonValue | undefined {
    if (!path.includes('/queries/')) return undefined
    const declared = [parameters ?? []].flat() as JsonSchema[]
    // The client takes the id of an item as a separate argument.
    const queryParameters = declared.filter(
      parameter => parameter['in'] === 'query' && parameter['name'] !== 'id',
    )
    const values = queryParameters.flatMap(({ name, schema }) => {
      const value = this.#examples.of(schema as JsonSchema, { name: String(name), owner: '' })
      return value === undefined ? [] : [[String(name), value] as const]
    })
    return values.length === 0 ? undefined : Object.fromEntries(values)
  }

  /** `responses`: by name, or those of an operation by status, of which the references stay unchanged. */
  responses(responses: JsonValue): JsonSchema {
    return mapMembers(responses, (response, name) => {
      const schema = schemaOf(response['content'])
      return schema ? this.#withExample(response, errorOf(name) ?? this.#examples.of(schema)) : response
    })
  }

  #withExample(holder: JsonSchema, example: JsonValue | undefined): JsonSchema {
    if (example === undefined) return holder
    const content = mapMembers(holder['content'], (media, type) =>
      type === 'application/problem+json' ? media : { ...media, example },
    )
    return { ...holder, content }
  }
}

/** The typical error: of a write, for its body; of a read, for its target. */
function errorOf(response: string): JsonValue | undefined {
  if (!response.endsWith('Error')) return undefined
  return errorExample(/^(?:Create|Update|Action|Batch)/.test(response) ? 'VALIDATION_FAILED' : 'NOT_FOUND')
}

/** `baseUrl`: see `openapi`; `origin`: an address of the service for the samples. */
export function referenceDocument(model: Model, baseUrl: string | undefined, origin: string): JsonSchema {
  const document = openapi(model, baseUrl, { webhooks: true })
  const components = document['components'] as JsonSchema
  const examples = new ExampleWriter(model, document, origin)
  const paths = mapMembers(document['paths'], (item, path) =>
    mapMembers(item, (member, key) => (methods.has(key) ? examples.operation(member, key, path) : member)),
  )
  return {
    ...document,
    paths,
    components: { ...components, responses: examples.responses(components['responses'] ?? {}) },
  }
}
