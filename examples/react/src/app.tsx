import { Posts } from './posts.tsx'
import { useMe } from './use-me.ts'

export function App() {
  const { me, fault, signIn, signOut } = useMe()
  return (
    <main>
      <header>
        <h1>Posts</h1>
        {me === undefined ? (
          <button type="button" onClick={signIn}>
            Sign in
          </button>
        ) : (
          <div className="row">
            <span>{me.name}</span>
            <button type="button" className="plain" onClick={signOut}>
              Sign out
            </button>
          </div>
        )}
      </header>
      {fault !== undefined && (
        <p className="fault" role="alert">
          {fault}
        </p>
      )}
      {me === undefined ? <p>Sign in to read and write posts.</p> : <Posts me={me} />}
    </main>
  )
}
