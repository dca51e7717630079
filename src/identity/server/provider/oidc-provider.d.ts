/** The parts of oidc-provider that we build on; the package brings no types of its own. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  type Payload = Record<string, unknown>

  interface Model {
    jti: string
    exp?: number
    kind: string
    clientId?: string
    accountId?: string
    grantId?: string
    scope?: string
    readonly scopes: Set<string>
    readonly isExpired: boolean
    save(ttl?: number): Promise<string>
    destroy(): Promise<void>
    getValueAndPayload(): Promise<{ value: string; payload: Payload }>
  }

  interface ModelClass<M> {
    new (payload?: Payload): M
    find(value: string, options?: Payload): Promise<M | undefined>
    instantiate(payload: Payload): M
    readonly IN_PAYLOAD: readonly string[]
    prototype: M
  }

  interface Grant extends Model {
    getOIDCScope(): string
    getOIDCScopeFiltered(filter: Iterable<string>): string
    addOIDCScope(scope: string): void
    rejectOIDCScope(scope: string): void
    addOIDCClaims(claims: readonly string[]): void
    rejectOIDCClaims(claims: readonly string[]): void
    getOIDCClaimsFiltered(filter: ReadonlySet<string>): string[]
  }

  interface Session extends Model {
    uid: string
    loginTs?: number
    amr?: string[]
    oldId?: string
    /** Whether it has changes that are not stored. */
    touched?: boolean
    transient?: boolean
    grantIdFor(clientId: string): string | undefined
    loginAccount(details: Payload): void
    resetIdentifier(): void
  }

  interface SessionClass extends ModelClass<Session> {
    get(ctx: Context): Promise<Session>
    findByUid(uid: string): Promise<Session | undefined>
  }

  interface Client {
    clientId: string
    clientName?: string
    clientUri?: string
    policyUri?: string
    tosUri?: string
    logoUri?: string
    clientAuthMethod: string
    redirectUris: string[]
    scope?: string
    grantTypeAllowed(type: string): boolean
    compareClientSecret(actual: string): boolean | Promise<boolean>
    redirectUriAllowed(uri: string): boolean
    [metadata: string]: unknown
  }

  interface InteractionDetails extends Model {
    uid: string
    returnTo: string
    params: Payload & {
      client_id: string
      scope?: string
      claims?: string
      redirect_uri?: string
      login_hint?: string
      prompt?: string
      max_age?: number
    }
    prompt: { name: string; reasons?: string[]; details: { missingOIDCScope?: string[] } & Payload }
    session?: { accountId?: string; uid?: string } | undefined
    grantId?: string | undefined
    result?: Payload | undefined
    lastSubmission?: Payload | undefined
    deviceCode?: string
    /** Saves it for as long as it would have lived anyway. */
    persist(): Promise<void>
  }

  interface OidcContext {
    route: string
    params: Payload & { client_id?: string; scope?: string }
    client: Client
    session: Session
    account?: { accountId: string }
    result?: { consent?: { grantId?: string }; login?: Payload }
    promptPending(name: string): boolean
    provider: Provider
    requestParamScopes: Set<string>
    prompts: Set<string>
    body?: Payload
    entities: Record<string, unknown>
  }

  interface Context {
    req: IncomingMessage & { body?: unknown }
    res: ServerResponse
    oidc: OidcContext
    path: string
    /** The base path: see `pinToIssuer`. */
    mountPath: string
    method: string
    query: Record<string, string | string[] | undefined>
    url: string
    secure: boolean
    status: number
    type: string
    body: unknown
    cookies: {
      set(name: string, value: string | null, options?: Payload): void
      get(name: string, options?: Payload): string | undefined
    }
    get(header: string): string
    set(header: string, value: string): void
    response: { get(header: string): string | undefined; remove(header: string): void }
    request: { body?: unknown }
  }

  type Middleware = (ctx: Context, next: () => Promise<void>) => unknown

  export default class Provider {
    constructor(issuer: string, configuration: Payload)
    readonly issuer: string
    /** Koa's prototype of every `ctx.request`. */
    readonly request: object
    /** Koa's prototype of every `ctx`. */
    readonly context: object
    readonly AccessToken: ModelClass<Model>
    readonly AuthorizationCode: ModelClass<Model>
    readonly ClientCredentials: ModelClass<Model>
    readonly RefreshToken: ModelClass<Model>
    readonly Grant: ModelClass<Grant>
    readonly Session: SessionClass
    readonly Interaction: ModelClass<InteractionDetails>
    readonly Client: ModelClass<Client>
    use(middleware: Middleware): this
    callback(): (req: IncomingMessage, res: ServerResponse) => Promise<void>
    createContext(req: IncomingMessage, res: ServerResponse): Context
    cookieName(type: 'session' | 'interaction' | 'resume'): string
    interactionDetails(req: IncomingMessage, res: ServerResponse): Promise<InteractionDetails>
    interactionResult(
      req: IncomingMessage,
      res: ServerResponse,
      result: Payload,
      options?: { mergeWithLastSubmission?: boolean },
    ): Promise<string>
    on(event: string, listener: (...details: never[]) => void): this
    emit(event: string, ...details: unknown[]): boolean
    pathFor(name: string): string
  }

  export const errors: Record<
    | 'InvalidGrant'
    | 'InvalidTarget'
    | 'InvalidScope'
    | 'InvalidRequest'
    | 'InvalidRequestUri'
    | 'InvalidToken'
    | 'LoginRequired'
    | 'UnmetAuthenticationRequirements'
    | 'UnsupportedResponseType',
    new (
      message?: string,
      scope?: string,
    ) => Error
  >

  /** `check`: whether its prompt is needed. */
  interface PromptCheck {
    readonly reason: string
    check: (ctx: Context) => boolean | Promise<boolean>
  }

  type PromptChecks = PromptCheck[] & {
    get(reason: string): PromptCheck | undefined
    add(check: PromptCheck): void
  }

  interface Prompt {
    readonly name: string
    readonly checks: PromptChecks
  }

  type InteractionPolicy = Prompt[] & {
    get(name: string): Prompt | undefined
    add(prompt: Prompt, at?: number): void
  }

  export const interactionPolicy: {
    base(): InteractionPolicy
    Prompt: new (info: { name: string; requestable: boolean }) => Prompt
    Check: new (
      reason: string,
      description: string,
      error: string,
      check: PromptCheck['check'],
    ) => PromptCheck
  }
}
