/** Opens the pages at `/` and `/docs` with the settings of the service and the sessions of visitors. */

import type { ExplorerFrame } from '../../../api/graphql/transports/graphiql.ts'
import { referenceDocument } from '../../../api/rest/openapi/reference/reference.ts'
import { then } from '../../../base/awaitable.ts'
import type { Principal } from '../../../base/principal.ts'
import type { SessionCookieReader } from '../../../identity/session-cookie.ts'
import type { JsonSchema } from '../../../model/fields/type.ts'
import type { Model } from '../../../model/model.ts'
import { renderPage, type Visitor } from '../../../web/pages/frame/layout.ts'
import { explorerPage } from '../../../web/portal/explorer.ts'
import { createPortal, type Portal } from '../../../web/portal/portal.ts'
import { firstQuery } from '../../../web/portal/quick-start.ts'
import type { Settings } from '../../config/config.ts'
import { frameOf } from '../oauth/account-pages.ts'

interface PortalParts {
  readonly model: Model
  readonly settings: Settings
  readonly issuer: () => string
  readonly sessions: SessionCookieReader
}

function visitorOf(principal: Principal | null): Visitor {
  if (principal === null) return 'anyone'
  return principal.access.role === 'admin' ? 'admin' : 'user'
}

export function openPortal({ model, settings, issuer, sessions }: PortalParts): Portal {
  let document: JsonSchema | undefined
  return createPortal({
    frame: frameOf(settings),
    model,
    document: () => (document ??= referenceDocument(model, settings.baseUrl, issuer())),
    guides: settings['docs.guides'],
    baseUrl: settings.baseUrl,
    origin: issuer,
    visitorOf: ({ headers }) => then(sessions.signedIn(headers), visitorOf),
  })
}

/** The frame around GraphiQL. */
export function explorerFrame({ settings, model, sessions }: Omit<PortalParts, 'issuer'>): ExplorerFrame {
  const frame = frameOf(settings)
  const { logo } = frame.theme
  return ({ headers }, parts) =>
    then(sessions.signedIn(headers), principal => ({
      html: renderPage(frame, explorerPage(parts, firstQuery(model), visitorOf(principal))),
      images: logo === undefined ? [] : [new URL(logo).origin],
    }))
}
