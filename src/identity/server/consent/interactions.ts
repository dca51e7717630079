/** The interaction of an authorization request with its user: sign-in, choice of the account, consent. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { InteractionDetails } from 'oidc-provider'
import { ApiError } from '../../../base/errors.ts'
import { scopeSet } from '../../../base/principal.ts'
import { appOf } from '../clients/client-metadata.ts'
import { interactionPath } from '../provider/configuration.ts'
import { recentSignInReason } from '../provider/interaction-policy.ts'
import type { Provider } from '../provider/load.ts'
import type { Interaction, NextPath, ScopeSentence, SignIn } from '../server.ts'
import { grantClaims, requestedScopes } from './claims.ts'
import type { Consents } from './consents.ts'
import { hasLastingScope, isRecent } from './lasting-scopes.ts'
import { withCovered } from './scopes.ts'

/** A request of a browser to one of the interaction pages. */
export interface InteractionRequest {
  readonly provider: Provider
  readonly req: IncomingMessage
  readonly res: ServerResponse
}

interface InteractionParts {
  readonly consents: Consents
  readonly sentencesOf: (scopes: readonly string[]) => readonly ScopeSentence[]
  readonly onConnected: ConnectionObserver
}

/** Called when a user has connected an app, or has given a connected one lasting or account-changing rights. */
export type ConnectionObserver = (userId: number, app: string) => void

/** Finds and continues the interactions of browsers. Each method throws NOT_FOUND if the interaction has ended. */
export class Interactions {
  readonly #parts: InteractionParts

  constructor(parts: InteractionParts) {
    this.#parts = parts
  }

  async find(request: InteractionRequest): Promise<Interaction> {
    const details = await detailsOf(request)
    const { params, prompt, session, uid } = details
    const { consents, sentencesOf } = this.#parts
    const client = await request.provider.Client.find(params.client_id)
    if (!client) throw new ApiError('NOT_FOUND', 'The app no longer exists.')
    const userId = session?.accountId === undefined ? undefined : Number(session.accountId)
    const previous = userId === undefined ? undefined : await consents.find(userId, client.clientId)
    return {
      uid,
      prompt: promptOf(prompt.name),
      app: appOf(client),
      destination: details.deviceCode === undefined ? destinationOf(params.redirect_uri) : undefined,
      scopes: sentencesOf(scopesOf(details)),
      allowedBefore: withCovered(previous?.scopes ?? []),
      userId,
      loginHint: params.login_hint,
      requiresAuthentication: requiresAuthentication(details),
    }
  }

  async finishLogin(
    request: InteractionRequest,
    { userId, remember, methods, at: ts }: SignIn,
  ): Promise<NextPath> {
    await detailsOf(request)
    const login = { accountId: String(userId), remember, ts, ...(methods && { amr: methods }) }
    return finish(request, { login }, false)
  }

  /** Continues with the account that is signed in. */
  async keepAccount(request: InteractionRequest): Promise<NextPath> {
    await detailsOf(request)
    return finish(request, { select_account: {} }, true)
  }

  async finishConsent(request: InteractionRequest, chosen: readonly string[]): Promise<NextPath> {
    const { provider } = request
    const details = await detailsOf(request)
    const { params, session } = details
    if (session?.accountId === undefined) throw new ApiError('FORBIDDEN', 'Sign in first.')
    const requested = scopesOf(details)
    const allowed = requested.filter(scope => chosen.includes(scope))
    if (allowed.length === 0) return this.deny(request)
    if (hasLastingScope(allowed) && !(await hasRecentSignIn(provider, session.uid))) {
      return restart(details, recentSignInReason)
    }
    // Without `openid` the app cannot sign the user in, so any consent includes it.
    if (requested.includes('openid') && !allowed.includes('openid')) allowed.push('openid')
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id })
    const scopes = (params.scope ?? '').split(' ')
    grant.addOIDCScope(scopes.filter(scope => allowed.includes(scope)).join(' '))
    const rejected = requested.filter(scope => !allowed.includes(scope))
    if (rejected.length > 0) grant.rejectOIDCScope(rejected.join(' '))
    grantClaims(grant, params.claims, allowed)
    const grantId = await grant.save()
    await this.#remember(request, details, allowed)
    return finish(request, { consent: { grantId } }, true)
  }

  async #remember(
    { provider }: InteractionRequest,
    details: InteractionDetails,
    allowed: readonly string[],
  ): Promise<void> {
    const { consents, onConnected } = this.#parts
    const { params, session } = details
    const { client_id: clientId } = params
    const userId = Number(session?.accountId)
    const before = await consents.find(userId, clientId)
    await consents.remember(userId, { clientId, sessionUid: session?.uid }, scopesOf(details), allowed)
    await consents.boundGrants(userId, clientId)
    const added = allowed.filter(scope => !before?.scopes.includes(scope))
    if (before !== undefined && !hasLastingScope(added)) return
    const client = await provider.Client.find(clientId)
    if (client) onConnected(userId, appOf(client).name)
  }

  async deny(request: InteractionRequest): Promise<NextPath> {
    await detailsOf(request)
    const result = { error: 'access_denied', error_description: 'The user denied the request.' }
    return finish(request, result, false)
  }

  /**
   * Restarts the request as if nobody had signed in, so that the user can continue with another account. The caller
   * signs the browser out.
   */
  async startAgain(request: InteractionRequest): Promise<NextPath> {
    const details = await detailsOf(request)
    details.session = undefined
    return restart(details, 'no_session')
  }
}

/** Restarts an authorization request at the sign-in page. */
async function restart(details: InteractionDetails, reason: string): Promise<NextPath> {
  details.grantId = undefined
  details.result = undefined
  details.lastSubmission = undefined
  details.prompt = { name: 'login', reasons: [reason], details: {} }
  await details.persist()
  return interactionPath + details.uid
}

async function hasRecentSignIn({ Session }: Provider, uid: string | undefined): Promise<boolean> {
  const session = uid === undefined ? undefined : await Session.findByUid(uid)
  return isRecent(session?.loginTs)
}

/** Whether the user must authenticate again, although another service may have a session of the user. */
function requiresAuthentication({ params, prompt }: InteractionDetails): boolean {
  if (prompt.reasons?.includes(recentSignInReason)) return true
  return scopeSet(params.prompt).has('login') || params.max_age !== undefined
}

async function detailsOf({ provider, req, res }: InteractionRequest): Promise<InteractionDetails> {
  const details = await whileOpen(provider.interactionDetails(req, res))
  const path = (req.url ?? '').split('?', 1)[0]
  if (path === interactionPath + details.uid || !path?.startsWith(interactionPath)) return details
  throw interactionOver()
}

/** Rejects with NOT_FOUND if the interaction has ended, perhaps by the same form sent twice. */
async function whileOpen<T>(result: Promise<T>): Promise<T> {
  try {
    return await result
  } catch (cause) {
    throw cause instanceof Error && cause.name === 'SessionNotFound' ? interactionOver() : cause
  }
}

function interactionOver(): ApiError {
  return new ApiError(
    'NOT_FOUND',
    'This sign-in took too long, was finished in another tab, or belongs to another browser. Start again at the app.',
  )
}

async function finish(
  { provider, req, res }: InteractionRequest,
  result: Record<string, unknown>,
  merge: boolean,
): Promise<NextPath> {
  const options = { mergeWithLastSubmission: merge }
  const next = await whileOpen(provider.interactionResult(req, res, result, options))
  const { pathname, search } = new URL(next)
  return pathname + search
}

function scopesOf({ params }: InteractionDetails): readonly string[] {
  return requestedScopes(params)
}

function promptOf(name: string): Interaction['prompt'] {
  return name === 'login' || name === 'select_account' ? name : 'consent'
}

/** The destination of a redirect URI in a form that people can compare. */
function destinationOf(uri: string | undefined): string | undefined {
  if (uri === undefined || !URL.canParse(uri)) return undefined
  const { origin, protocol } = new URL(uri)
  return origin === 'null' ? protocol : origin
}
