import com.google.gson.GsonBuilder;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.PostsApi;
import org.openapitools.client.model.*;

/** A post, by nothing but the classes that openapi-generator has made. */
public class Blog {
  public static void main(String[] args) throws ApiException {
    ApiClient client = new ApiClient();
    client.setBasePath(System.getenv("SERVICE"));
    client.setBearerToken(System.getenv("TOKEN"));
    PostsApi posts = new PostsApi(client);
    Post created = posts.createPost(new PostCreate().title("One"), null, null, null);
    Post updated =
        posts.updatePost(created.getId(), new PostUpdate().body("changed"), null, null, null, null);
    Post read = posts.getPost(created.getId(), null, null, null);
    PostList listed =
        posts.listPosts(null, 1, null, null, null, null, "-id", null, null, null);
    posts.deletePost(created.getId(), null, null);
    int missing = 200;
    try {
      posts.getPost(created.getId(), null, null, null);
    } catch (ApiException error) {
      missing = error.getCode();
    }
    Map<String, Object> seen = new LinkedHashMap<>();
    seen.put("created", Arrays.asList(created.getTitle(), created.getBody()));
    seen.put("updated", updated.getBody());
    seen.put("read", Arrays.asList(read.getTitle(), read.getCreatedAt().equals(created.getCreatedAt())));
    seen.put(
        "listed",
        Arrays.asList(
            listed.getData().stream().map(Post::getTitle).collect(Collectors.toList()),
            listed.getMeta().getTotal()));
    seen.put("missing", missing);
    System.out.print(new GsonBuilder().serializeNulls().create().toJson(seen));
  }
}
