package shop;

import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.Set;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.enhanced.dynamodb.extensions.annotations.DynamoDbVersionAttribute;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbAttribute;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbBean;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbPartitionKey;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbSortKey;

/** A product as the enhanced client maps it; its version makes every write conditional. */
@DynamoDbBean
public class Product {
  private String pk;
  private String sk;
  private String kind;
  private String name;
  private Integer cents;
  private Integer stock;
  private BigDecimal weight;
  private Set<String> tags;
  private Set<BigDecimal> codes;
  private Map<String, Double> sizes;
  private List<String> colours;
  private SdkBytes picture;
  private Boolean forSale;
  private Integer version;

  @DynamoDbPartitionKey
  public String getPk() { return pk; }
  public void setPk(String pk) { this.pk = pk; }

  @DynamoDbSortKey
  public String getSk() { return sk; }
  public void setSk(String sk) { this.sk = sk; }

  public String getKind() { return kind; }
  public void setKind(String kind) { this.kind = kind; }

  public String getName() { return name; }
  public void setName(String name) { this.name = name; }

  public Integer getCents() { return cents; }
  public void setCents(Integer cents) { this.cents = cents; }

  public Integer getStock() { return stock; }
  public void setStock(Integer stock) { this.stock = stock; }

  public BigDecimal getWeight() { return weight; }
  public void setWeight(BigDecimal weight) { this.weight = weight; }

  public Set<String> getTags() { return tags; }
  public void setTags(Set<String> tags) { this.tags = tags; }

  public Set<BigDecimal> getCodes() { return codes; }
  public void setCodes(Set<BigDecimal> codes) { this.codes = codes; }

  public Map<String, Double> getSizes() { return sizes; }
  public void setSizes(Map<String, Double> sizes) { this.sizes = sizes; }

  public List<String> getColours() { return colours; }
  public void setColours(List<String> colours) { this.colours = colours; }

  public SdkBytes getPicture() { return picture; }
  public void setPicture(SdkBytes picture) { this.picture = picture; }

  @DynamoDbAttribute("for_sale")
  public Boolean getForSale() { return forSale; }
  public void setForSale(Boolean forSale) { this.forSale = forSale; }

  @DynamoDbVersionAttribute
  public Integer getVersion() { return version; }
  public void setVersion(Integer version) { this.version = version; }
}
