/** A stub engine and stub accounts that tests control. */
import {
  buildSchema,
  execute,
  type GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  parse,
  validate,
} from 'graphql'
import type { CredentialHeaders } from '../../../src/api/events/credential-monitor.ts'
import type {
  BoundOperation,
  Engine,
  PreparedOperation,
  RequestErrorResult,
} from '../../../src/api/graphql/engine.ts'
import type { Account } from '../../../src/api/graphql/graphql.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { anonymous, type Principal, user } from '../../../src/base/principal.ts'
import type { LoggedChange } from '../../../src/engine/plan/change-feed.ts'

export const schema: GraphQLSchema = buildSchema(`
  type Query { hello(name: String = "world"): String  secret: String  slow: String  expensive: String  boom: String  left: Int }
  type Mutation { add: Int }
  type Subscription { newPost(title: String, after: ID): Post  postDeleted: Post }
  type Post { id: ID  title: String  big: String }
`)

function refused(errors: readonly GraphQLError[]): RequestErrorResult {
  const formatted = errors.map(error => error.toJSON())
  return { outcome: 'request error', errors: formatted, text: JSON.stringify({ errors: formatted }) }
}

interface StubPrepared extends PreparedOperation {
  readonly document: ReturnType<typeof parse>
}

interface StubBound extends BoundOperation {
  readonly prepared: StubPrepared
  readonly variables: Readonly<Record<string, unknown>>
}

export interface StubEngine extends Engine {
  /** The number of executed operations. */
  executed: number
  /** The number of rendered replies to changes. */
  rendered: number
  added: number
}

/** Callers with the role `hidden` cannot subscribe and see no post. */
export function stubEngine(): StubEngine {
  const rootOf = (principal: Principal, remaining: () => number | undefined) => ({
    hello: ({ name }: { name: string }) => `hello ${name}`,
    secret: () => (principal.userId === null ? null : `user ${principal.userId}`),
    slow: () => new Promise(resolve => setTimeout(resolve, 30, 'late')),
    expensive: () => 'paid',
    left: remaining,
    boom: () => {
      throw new Error('boom')
    },
    add: () => ++engine.added,
  })
  const engine: StubEngine = {
    schema,
    executed: 0,
    rendered: 0,
    added: 0,
    prepare(source, operationName) {
      try {
        const document = parse(source, { maxTokens: 100 })
        const errors = validate(schema, document)
        if (errors.length > 0) return refused(errors)
        const operation = getOperationAST(document, operationName)
        if (!operation) return refused([...validate(schema, parse('{ unknownOperation }'))])
        const prepared: StubPrepared = {
          outcome: 'prepared',
          operation: operation.operation,
          operationName: operationName ?? undefined,
          document,
        }
        return prepared
      } catch (error) {
        return refused([error as GraphQLError])
      }
    },
    bind(prepared, variables) {
      const text = JSON.stringify(variables ?? null)
      if (text.includes('"wrong"')) return refused(validate(schema, parse('{ wrongVariable }')).slice())
      const cost = JSON.stringify((prepared as StubPrepared).document).includes('"expensive"') ? 950 : 1
      const { after, ...rest } = (variables ?? {}) as Readonly<Record<string, unknown>>
      const bound: StubBound = {
        outcome: 'bound',
        after: after === undefined ? undefined : Number(after),
        prepared: prepared as StubPrepared,
        cost,
        variables: rest,
        retained: {
          key: JSON.stringify([(prepared as StubPrepared).document, rest]),
          documentBytes: 100,
          argumentBytes: text.length,
        },
      }
      return bound
    },
    execute(bound, principal, context) {
      engine.executed++
      const { prepared, variables } = bound as StubBound
      const result = execute({
        schema,
        document: prepared.document,
        variableValues: variables,
        operationName: prepared.operationName ?? null,
        rootValue: rootOf(principal, () => context.rateLimit?.remaining),
      })
      const replyOf = (value: unknown) => ({ text: JSON.stringify(value) })
      return result instanceof Promise ? result.then(replyOf) : replyOf(result)
    },
    subscribe(bound, principal) {
      if (principal.access.role === 'hidden') {
        const errors = [{ message: 'You may not do this.', extensions: { code: 'FORBIDDEN' } }]
        return { outcome: 'request error', errors, text: JSON.stringify({ errors }) }
      }
      const { prepared, variables } = bound as StubBound
      const isDeletion = JSON.stringify(prepared.document).includes('"postDeleted"')
      return {
        topics: [{ collection: 'posts', kind: isDeletion ? 'deleted' : 'created' }],
        render({ row }: LoggedChange) {
          engine.rendered++
          const { fault, later, ...post } = JSON.parse(row)
          if (fault) throw new Error('the database is unavailable')
          if (variables.title !== undefined && variables.title !== post.title) return null
          const text = JSON.stringify({ data: { [isDeletion ? 'postDeleted' : 'newPost']: post } })
          return later ? new Promise(resolve => setTimeout(resolve, later, text)) : text
        },
      }
    },
  }
  return engine
}

/** Principals by the text of their key. A deleted key is refused. */
export interface StubAccounts {
  readonly keys: Map<string, Principal>
  budget: number
  readonly draws: number[]
  identify(credential: CredentialHeaders, address: string): Principal
  account(principal: Principal, credential: CredentialHeaders | undefined): Account
}

export function stubAccounts(): StubAccounts {
  const accounts: StubAccounts = {
    keys: new Map([
      ['ada', user(1, 'user', 'all')],
      ['bob', user(2, 'user', 'all')],
      ['eve', user(3, 'hidden', 'all')],
    ]),
    budget: Number.POSITIVE_INFINITY,
    draws: [],
    identify({ authorization, 'x-api-key': key }, address) {
      const text = key ?? authorization?.replace('Bearer ', '')
      if (text === undefined) return anonymous(address)
      const principal = accounts.keys.get(text)
      if (principal) return principal
      throw new ApiError('UNAUTHORIZED', 'The credential is wrong, expired or revoked.')
    },
    account: (principal, credential) => ({
      principal,
      credential,
      draw(requests) {
        accounts.draws.push(requests)
        if (accounts.budget < requests) throw new ApiError('RATE_LIMITED')
        accounts.budget -= requests
        return undefined
      },
      drawForReply: () => undefined,
      remaining: () => ({ limit: 10, remaining: 7, resetAt: 0 }),
    }),
  }
  return accounts
}
