/** The pages at `/` and `/docs`, with the settings of the service and the visitor's session. */
import { findUser } from '../auth/accounts/users.ts'
import type { SessionInfo } from '../auth/server/server.ts'
import type { Settings } from '../config.ts'
import type { ExplorerFrame } from '../graphql/transports/graphiql.ts'
import type { Exchange } from '../http.ts'
import type { JsonSchema } from '../model/fields/type.ts'
import type { Model } from '../model/model.ts'
import { type Awaitable, then } from '../plan/answer.ts'
import type { Run } from '../plan/run.ts'
import { explorerPage } from '../portal/explorer.ts'
import { type FrameOptions, framed, type Visitor } from '../portal/frame.ts'
import { createPortal, type Portal } from '../portal/portal.ts'
import { referenceDocument } from '../rest/openapi/reference/reference.ts'
import { themeOf } from './account-pages.ts'

interface PortalParts {
  readonly model: Model
  readonly run: Run
  readonly settings: Settings
  readonly issuer: () => string
  /** Who is signed in in the browser. */
  readonly sessionOf: (exchange: Exchange) => Awaitable<SessionInfo | undefined>
}

function frameOf(settings: Settings): FrameOptions {
  return {
    theme: themeOf(settings),
    explorer: settings['graphql.graphiql'],
    guides: settings['docs.guides'] !== 'none',
  }
}

export function openPortal({ model, run, settings, issuer, sessionOf }: PortalParts): Portal {
  const visitorOf = async ({ userId }: SessionInfo): Promise<Visitor> => {
    const user = await findUser(run, userId)
    if (user === undefined) return 'anyone'
    return user.role === 'admin' ? 'admin' : 'user'
  }
  let document: JsonSchema | undefined
  return createPortal({
    frame: frameOf(settings),
    model,
    document: () => (document ??= referenceDocument(model, settings.baseUrl, issuer())),
    guides: settings['docs.guides'],
    baseUrl: settings.baseUrl,
    origin: issuer,
    // Every call is an exchange.
    visitorOf: call =>
      then(sessionOf(call as Exchange), session => (session === undefined ? 'anyone' : visitorOf(session))),
  })
}

/** The frame around GraphiQL. */
export function explorerFrame(settings: Settings): ExplorerFrame {
  const frame = frameOf(settings)
  const { logo } = frame.theme
  return parts => ({
    html: framed(frame, explorerPage(parts)),
    images: logo === undefined ? [] : [new URL(logo).origin],
  })
}
